import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The text of cURL commands", .hangLimit, .timeLimit(.minutes(10)))
struct CurlCommandTests {
    private static let url = URL("https://shop.test/api/goods?page=2&token=s3cret#s3cret")

    @Test func `A command is redacted unless it is asked for otherwise`() throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret", "Content-Type": "application/json", "X-Empty": "",
        ]
        let body = HTTPBody.data(Data(#"{"pin": "s3c'ret"}"#.utf8))
        let request = HTTPRequest(.post, Self.url, headers: headers, body: body)
        var redactor = Redactor()
        redactor.shownQueryNames = ["page"]
        let accepted = try accepted()
        let shown = [
            "curl -q --globoff --path-as-is\(accepted.isEmpty ? "" : " --compressed") --request 'POST' "
                + "--url 'https://shop.test/api/goods?page=2&token=<redacted 6 bytes>'",
            "--header 'Accept-Encoding: \(accepted)'", "--header 'Authorization: <redacted 13 bytes>'",
            "--header 'Content-Type: application/json'", "--header 'X-Empty;'", "--header 'User-Agent:'",
            "--header 'Expect:'", #"--data-raw '{"pin":"<redacted 7 bytes>"}'"#,
        ].filter { $0 != "--header 'Accept-Encoding: '" }
        let redacted = try Redactor.$replacement.withValue(redactor) { try request.curlCommand() }
        #expect(redacted == shown.joined(separator: " \\\n    "))
        let whole = try request.curlCommand(includesSecrets: true)
        #expect(whole.contains("token=s3cret#s3cret'"))
        #expect(whole.contains("'Authorization: Bearer s3cret'"))
        #expect(whole.hasSuffix(#"--data-raw '{"pin": "s3c'\''ret"}'"#))
    }

    private func accepted() throws -> String {
        let command = try HTTPRequest(.get, Self.url).curlCommand()
        return String(command.firstMatch(of: /Accept-Encoding: ([^']*)'/)?.1 ?? "")
    }

    @Test func `A deadline is an option`() throws {
        var request = HTTPRequest(.get, Self.url)
        request.deadline = .seconds(5)
        #expect(try request.curlCommand().contains(" \\\n    --max-time 5.0 \\\n"))
    }

    @Test func `A request that would not be sent, or cannot be repeated, has no command`() throws {
        let stream = HTTPBody.stream(length: 1) { AsyncStream<Data> { $0.finish() } }
        let requests = [
            HTTPRequest(.get, URL("ftp://shop.test/")), HTTPRequest(.get, Self.url, headers: ["X-A": "1\r\nX-B: 2"]),
            HTTPRequest(.head, Self.url, body: .data(Data([1]))), HTTPRequest(.post, Self.url, body: stream),
            HTTPRequest(.post, Self.url, body: .file(Self.url)),
        ]
        for request in requests {
            let error = #expect(throws: TransportError.self) { try request.curlCommand(includesSecrets: true) }
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
        let command = try request.curlCommand(includesSecrets: true)
        #expect(command.hasPrefix(#"printf '\000\3771' | curl -q "#))
        #expect(command.hasSuffix("--data-binary @-"))
    }
}
