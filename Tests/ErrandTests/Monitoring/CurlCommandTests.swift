import Foundation
import Testing
import TestSupport

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

#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing
@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "cURL commands, run by a shell, send what the library sends",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10)),
    .enabled(if: CookieProbe.hasCurl, "curl is not installed")
)
struct CurlCommandLiveTests {
    private let server: FixtureServer
    private let transport: CurlTransport
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        server = try FixtureServer.start { _ in .text("ok") }
        transport = try CurlTransport()
    }

    /// Everything of a request that both send.
    private struct Sent: Equatable {
        let method: String
        let target: String
        let headers: HeaderLines
        let body: [UInt8]

        init(_ request: RecordedRequest) {
            (method, target, body) = (request.method, request.target, request.body)
            headers = request.headers
        }
    }

    /// Runs commands in one shell; what curl writes is discarded.
    private func run(_ commands: [String], before setUp: String = "") async throws {
        let script = folder.url.appending(path: "script.sh")
        let text = commands.map { "{ \($0)\n} >/dev/null 2>&1 || exit 1\n" }.joined()
        try Data("\(setUp)\n\(text)".utf8).write(to: script)
        let ending = try await TestProgram.run(["/bin/sh", script.path])
        #expect(ending.status == 0, "\(ending.standardError)")
    }

    /// Sends the requests with the library and with their commands, and compares what the server has received.
    private func expectEqual(_ requests: [HTTPRequest]) async throws -> [RecordedRequest] {
        for request in requests { _ = try await transport.send(request) }
        let expected = server.requests.map(Sent.init)
        server.removeRecordedRequests()
        try await run(requests.map { try $0.curlCommand(includesSecrets: true) })
        let received = server.requests
        #expect(received.count == requests.count && expected.count == requests.count)
        for (actual, expected) in zip(received.map(Sent.init), expected) { #expect(actual == expected) }
        return received
    }

    @Test func `Methods, headers and bodies of all kinds`() async throws {
        let url = server.url("/a/../b/./c[1-2]{x,y}?q=%2F&r='$(exit 1)'&[0]=`exit 1`")
        let latin = HTTPField("X-Latin", bytes: [UInt8(ascii: "c"), 0xE9, 0xFF, 0x80])
        let all = Data(0...255)
        var requests = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "get", "'$!`|"].map { method in
            HTTPRequest(HTTPMethod(rawValue: method), url)
        }
        requests.append(HTTPRequest(.head, url))
        for method in [HTTPMethod.get, .post, .put, .delete] {
            for body in [
                Data(), Data("@/etc/passwd".utf8), Data("-x\n\n".utf8), all,
                Data((0..<200_000).map { UInt8($0 % 251) }),
            ] {
                requests.append(HTTPRequest(method, url, body: .data(body)))
            }
            requests.append(HTTPRequest(method, url, body: .data(Data(String(repeating: "ü", count: 100_000).utf8))))
        }
        let headers: HTTPHeaders = [
            "X-One": "1", "x-two": "a; b", "X-Empty": "", "X-One": "2", "X-Blank": "  ", "X-Tab": "a\tb",
            "X-Quotes": "'\"$(exit 1)`exit 1`\\n%s", "Accept": "text/x", "User-Agent": "Errand", "Content-Type": "a/b",
            "Cookie": "a=b; c=\"d\"", "Authorization": "Bearer t", "Accept-Encoding": "identity", "-H": "@file",
            "X-Unicode": "日本", "Content-Length": "99", "Host": "other", "Transfer-Encoding": "chunked",
        ]
        requests.append(HTTPRequest(.post, url, headers: HTTPHeaders(headers + [latin]), body: .data(Data("abc".utf8))))
        requests.append(HTTPRequest(.get, url, headers: HTTPHeaders([latin])))
        _ = try await expectEqual(requests)
    }

    @MainActor @Test func `The command of a load with a range asks for bytes that are not encoded`() async throws {
        let proxy = APIProxy(service: .sample { $0 = APIService(baseURL: server.url("/")) })
        let request = APIRequest<Data>("/", headers: ["Range": "bytes=0-"], proxy: proxy)
        let command = try await request.prepare().curlCommand(includesSecrets: true)
        #expect(command.contains("'Accept-Encoding: identity'") && !command.contains("--compressed"))
        let part = HTTPRequest(.get, server.url("/"), headers: ["Range": "bytes=0-"])
        #expect(try part.curlCommand(includesSecrets: true).contains("'Accept-Encoding: identity'"))
    }

    @Test(arguments: ["file", "it's", "-d", "$(exit 1)", "a b\n", "@", "\u{1B}ü"])
    func `Files are sent by name, alone and between other pieces`(_ name: String) async throws {
        let file = folder.url.appending(path: name)
        let contents = Data.counting(100_000)
        try contents.write(to: file)
        var form = MultipartForm(boundary: "xyz")
        form.append(Data([0, 0xFF]), name: "a'b", filename: "%\\$(exit 1)")
        form.append(file: file, name: "f", filename: "f")
        let multipart = ["Content-Type": "multipart/form-data; boundary=xyz"] as HTTPHeaders
        let body = try form.body(fields: [("-n", "ü")])
        let received = try await expectEqual([
            HTTPRequest(.post, server.url("/"), body: .file(file)),
            HTTPRequest(.put, server.url("/"), body: HTTPBody([.file(file), .file(file)])),
            HTTPRequest(.post, server.url("/"), headers: multipart, body: body),
        ])
        #expect(received[0].body == Array(contents))
        #expect(received[2].body.count > contents.count)
    }

    // MARK: Conformance data

    @Test(.enabled(if: SharedData.naughtyStrings.exists, "the conformance data is not here"))
    func `The naughty strings arrive byte for byte in query, headers and body`() async throws {
        let texts: [String] = try SharedData.naughtyStrings.json("blns.json")
        #expect(texts.count == 515)
        // A process of curl each; a shell reads all texts in the next test.
        let sent = texts.enumerated().filter { $0.offset.isMultiple(of: 12 / rounds(4, slow: 12)) }.map(\.element)
        let requests = sent.map { text in
            let url = server.url("/?\(FormEncoding.serialize([(name: "v", value: text), (name: text, value: "1")]))")
            let isValue = !text.utf8.contains(where: \.isControlExceptTab)
            let headers: HTTPHeaders = ["X-Text": isValue ? text : nil, "Content-Type": "text/plain"]
            return HTTPRequest(.post, url, headers: headers, body: .data(Data(text.utf8)))
        }
        let received = try await expectEqual(requests)
        for (text, request) in zip(sent, received) {
            #expect(request.body == Array(text.utf8))
            #expect(request.queryItems.first.map { Array($0.value.utf8) } == Array(text.utf8))
        }
    }

    @Test(.enabled(if: SharedData.naughtyStrings.exists, "the conformance data is not here"))
    func `A redacted command executes nothing and reads no file`() async throws {
        let texts: [String] = try SharedData.naughtyStrings.json("blns.json")
        let mark = folder.url.appending(path: "mark")
        let attacks = [
            "$(touch \(mark.path))", "`touch \(mark.path)`", "'; touch \(mark.path); '", "\n touch \(mark.path)\n",
        ]
        var redactor = Redactor()
        (redactor.shownHeaderNames, redactor.shownQueryNames, redactor.shownMemberNames) = (["X-Text"], ["v"], ["v"])
        let requests = try (texts + attacks).map { text in
            let url = server.url("/?\(FormEncoding.serialize([(name: "v", value: text), (name: text, value: "1")]))")
            let isValue = !text.utf8.contains(where: \.isControlExceptTab)
            let headers: HTTPHeaders = ["X-Text": isValue ? text : nil, "Content-Type": "application/json"]
            let body = HTTPBody.data(try JSONEncoder().encode(["v": text, text: "v"]))
            return HTTPRequest(.post, url, headers: headers, body: body)
        }
        let commands = try Redactor.$replacement.withValue(redactor) { try requests.map { try $0.curlCommand() } }
        // Each command must be one of the function that replaces curl, whose last argument is the body.
        try await run(
            commands,
            before: #"curl() { for last; do :; done; case "$last" in "{"*"}") ;; *) exit 9 ;; esac; }"#
        )
        #expect(!FileManager.default.fileExists(atPath: mark.path))
        #expect(server.totalRequests == 0)
    }

    @Test(.enabled(if: SharedData.curlQuoting.exists, "the conformance data is not here"))
    func `The 17 requests of httpsnippet are sent as described`() async throws {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: SharedData.curlQuoting.folder.appending(path: "httpsnippet/requests").path
        ).sorted()
        #expect(names.count == 17)
        let file = try TemporaryFile(Data("Hello World\n".utf8))
        let snippets: [Snippet] = try names.map { name in
            let json: JSONValue = try SharedData.curlQuoting.json("httpsnippet/requests/\(name)")
            return try Snippet(json, server: server, file: file.url)
        }
        let received = try await expectEqual(snippets.map(\.request))
        for (snippet, request) in zip(snippets, received) {
            #expect(request.method == snippet.request.method.rawValue)
            #expect(request.target == snippet.target)
            for field in snippet.request.headers {
                #expect(request.headers.values(field.name).contains(field.value), "\(snippet.target)")
            }
            #expect(request.text == snippet.text)
        }
    }
}

/// A request of httpsnippet, in the form of HAR.
private struct Snippet {
    var request: HTTPRequest
    /// The target that the server receives.
    let target: String
    /// The body that the server receives.
    var text = ""

    init(_ json: JSONValue, server: FixtureServer, file: URL) throws {
        let request = json["log"]?["entries"]?[0]?["request"] ?? json
        let url = try #require(URL(string: request["url"]?.string ?? ""))
        let added = Self.pairs(request["queryString"])
        let query = [url.query(), added.isEmpty ? nil : FormEncoding.serialize(added)].compactMap { $0 }
        target = url.path + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        let headers = Self.pairs(request["headers"]).map { HTTPField($0.name, $0.value) }
        let method = HTTPMethod(rawValue: request["method"]?.string ?? "")
        self.request = HTTPRequest(method, server.url(target), headers: HTTPHeaders(headers))
        let cookies = Self.pairs(request["cookies"]).map { "\($0.name)=\($0.value)" }
        if !cookies.isEmpty { self.request.headers.append("Cookie", cookies.joined(separator: "; ")) }
        try setBody(request["postData"], file: file)
    }

    private mutating func setBody(_ data: JSONValue?, file: URL) throws {
        guard let data else { return }
        let params = data["params"]?.elements ?? []
        if let text = data["text"]?.string {
            self.text = text
        } else if data["mimeType"]?.string == "multipart/form-data" {
            var form = MultipartForm(boundary: "xyz")
            for param in params {
                let (name, filename) = (param["name"]?.string ?? "", param["fileName"]?.string)
                if let value = param["value"]?.string {
                    form.append(
                        Data(value.utf8),
                        name: name,
                        filename: filename,
                        contentType: param["contentType"]?.string
                    )
                } else {
                    form.append(file: file, name: name, filename: filename, contentType: "text/plain")
                }
            }
            request.headers["Content-Type"] = "multipart/form-data; boundary=xyz"
            request.body = try form.body(fields: [])
            return text = request.body.pieces.map(Self.text).joined()
        } else {
            text = FormEncoding.serialize(Self.pairs(.array(params)))
        }
        request.body = .data(Data(text.utf8))
    }

    private static func text(_ piece: HTTPBody.Piece) -> String {
        guard case .data(let data) = piece else { return "Hello World\n" }
        return String(decoding: data, as: UTF8.self)
    }

    private static func pairs(_ list: JSONValue?) -> [FormEncoding.Pair] {
        (list?.elements ?? []).map { ($0["name"]?.string ?? "", $0["value"]?.string ?? "") }
    }
}

extension JSONValue {
    /// The elements of an array; none for other values.
    fileprivate var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }
}
#endif
