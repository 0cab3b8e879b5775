import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The text of cURL commands", .hangLimit, .timeLimit(.minutes(10)))
struct CurlCommandTests {
    private static let pins = [UInt8(1), 2].map { "sha256//" + Data(repeating: $0, count: 32).base64EncodedString() }
    private static let url = URL("https://shop.test/api/goods?page=2&token=s3cret#s3cret")

    @Test func `A command is redacted unless it is asked for otherwise`() throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret", "Content-Type": "application/json", "X-Empty": "",
        ]
        let body = HTTPBody.data(Data(#"{"pin": "s3c'ret"}"#.utf8))
        let request = HTTPRequest(.post, Self.url, headers: headers, body: body)
        var redactor = Redactor()
        redactor.queryNames = ["page"]
        let accepted = try accepted()
        let shown = [
            "curl -q --globoff --path-as-is\(accepted.isEmpty ? "" : " --compressed") --request 'POST' "
                + "--url 'https://shop.test/api/goods?page=2&token=<redacted 6 bytes>'",
            "--header 'Accept-Encoding: \(accepted)'", "--header 'Authorization: <redacted 13 bytes>'",
            "--header 'Content-Type: application/json'", "--header 'X-Empty;'", "--header 'User-Agent:'",
            "--header 'Expect:'", #"--data-raw '{"pin":"<redacted 7 bytes>"}'"#,
        ].filter { $0 != "--header 'Accept-Encoding: '" }
        #expect(try request.curlCommand(redactor: redactor) == shown.joined(separator: " \\\n    "))
        let whole = try request.curlCommand(redactor: nil)
        #expect(whole.contains("token=s3cret#s3cret'"))
        #expect(whole.contains("'Authorization: Bearer s3cret'"))
        #expect(whole.hasSuffix(#"--data-raw '{"pin": "s3c'\''ret"}'"#))
    }

    private func accepted() throws -> String {
        let command = try HTTPRequest(.get, Self.url).curlCommand()
        return String(command.firstMatch(of: /Accept-Encoding: ([^']*)'/)?.1 ?? "")
    }

    @Test func `Proxy, socket, timeouts and TLS of the configuration are options`() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .url(URL("http://me:s3cret@proxy.test:3128"))
        configuration.unixSocketPath = "/tmp/it's a socket"
        configuration.connectTimeout = .milliseconds(1_500)
        configuration.assumesHTTP3Capable = true
        configuration.tls.minimumVersion = .v1_3
        configuration.tls.additionalAuthorities = .file(URL(fileURLWithPath: "/etc/ca.pem"))
        configuration.tls.pinnedPublicKeys = [Self.url.host ?? "": Self.pins]
        configuration.tls.clientIdentity = ClientIdentity(
            certificate: URL(fileURLWithPath: "/etc/a:b.p12"),
            password: "s3cret",
            origins: [Self.url]
        )
        var request = HTTPRequest(.get, Self.url)
        request.deadline = .seconds(5)
        let command = try request.curlCommand(configuration: configuration)
        let options = [
            "--proxy 'http://proxy.test:3128'", "--noproxy ''", #"--unix-socket '/tmp/it'\''s a socket'"#,
            "--connect-timeout '1.5'", "--max-time '5.0'", "--tlsv1.3", "--cacert '/etc/ca.pem'",
            "--pinnedpubkey '\(Self.pins.joined(separator: ";"))'", #"--cert '/etc/a\:b.p12'"#, "--cert-type P12",
            "--pass '<redacted 6 bytes>'",
        ]
        for option in options { #expect(command.contains(" \\\n    \(option) \\\n"), "\(option)") }
        #expect(!command.contains("s3cret"))
        #expect(!command.contains("--http3"), "the host has pinned keys")
        let whole = try request.curlCommand(redactor: nil, configuration: configuration)
        #expect(whole.contains("--proxy 'http://me:s3cret@proxy.test:3128'") && whole.contains("--pass 's3cret'"))
        request.url = URL("https://other.test/")
        let other = try request.curlCommand(redactor: nil, configuration: configuration)
        #expect(!other.contains("--cert") && other.contains(" \\\n    --http3 \\\n"))
        configuration.proxy = .none
        #expect(try request.curlCommand(configuration: configuration).contains("--noproxy '*'"))
    }

    @Test func `A pinned key that a transport would refuse, or that needs https, has no command`() throws {
        var configuration = TransportConfiguration()
        configuration.tls.pinnedPublicKeys = ["shop.test": Self.pins]
        let clear = HTTPRequest(.get, URL("http://shop.test/"))
        let error = #expect(throws: TransportError.self) { try clear.curlCommand(configuration: configuration) }
        #expect(error?.kind == .security)
        configuration.tls.pinnedPublicKeys["other.test"] = ["sha256//a="]
        let other = #expect(throws: TransportError.self) {
            try HTTPRequest(.get, Self.url).curlCommand(configuration: configuration)
        }
        #expect(other?.kind == .invalidRequest)
    }

    @Test func `A request that would not be sent, or cannot be repeated, has no command`() throws {
        let stream = HTTPBody.stream(length: 1) { AsyncStream<Data> { $0.finish() } }
        let requests = [
            HTTPRequest(.get, URL("ftp://shop.test/")), HTTPRequest(.get, Self.url, headers: ["X-A": "1\r\nX-B: 2"]),
            HTTPRequest(.head, Self.url, body: .data(Data([1]))), HTTPRequest(.post, Self.url, body: stream),
            HTTPRequest(.post, Self.url, body: .file(Self.url)),
        ]
        for request in requests {
            let error = #expect(throws: TransportError.self) { try request.curlCommand(redactor: nil) }
            #expect(error?.kind == .invalidRequest)
        }
        #expect(try requests[3].curlCommand().hasSuffix("--data-raw '<redacted stream of 1 bytes>'"))
        #expect(try requests[4].curlCommand().hasSuffix("--data-raw '<redacted file>'"))
    }

    @Test(
        arguments: [
            ("a b", "'a b'"), ("", "''"), ("it's", #"'it'\''s'"#), ("$(x)`y`!", "'$(x)`y`!'"), ("a\nb", "'a\nb'"),
            ("ü日", "'ü日'"), ("a\tb%\\", #""$(printf 'a\011b%%\\')""#), ("-\u{1B}", #""$(printf '\055\033')""#),
            ("\u{202E}'", #""$(printf '\342\200\256\047')""#), ("\u{1B}\n\n", "\"$(printf '\\033')\"'\n\n'"),
            ("'\u{301}; rm x; '", "''\\''\u{301}; rm x; '\\'''"),
        ]
    )
    func `Words are quoted, and unusual characters written as octal digits`(_ text: String, _ word: String) {
        #expect(ShellText.word(text) == word)
    }

    @Test func `Bytes that are no text are written by printf`() throws {
        let request = HTTPRequest(.put, Self.url, body: .data(Data([0, 0xFF, 0x31])))
        let command = try request.curlCommand(redactor: nil)
        #expect(command.hasPrefix(#"printf '\000\3771' | curl -q "#))
        #expect(command.hasSuffix("--data-binary @-"))
    }
}
