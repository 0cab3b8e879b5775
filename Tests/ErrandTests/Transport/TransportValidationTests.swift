import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("Hostile requests", .fault(61), .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportValidationTests {
    @Test("a hostile method is never sent", arguments: TransportKind.allCases, Self.hostileTokens)
    func method(kind: TransportKind, text: String) async throws {
        try await expectRefusal(kind) { $0.method = HTTPMethod(rawValue: text) }
    }

    @Test(arguments: TransportKind.allCases, ["CONNECT", "PRI"])
    func `A method that makes a connection is never sent`(_ kind: TransportKind, _ method: String) async throws {
        try await expectRefusal(kind) { $0.method = HTTPMethod(rawValue: method) }
    }

    @Test("a hostile header name is never sent", arguments: TransportKind.allCases, Self.hostileTokens)
    func headerName(kind: TransportKind, text: String) async throws {
        try await expectRefusal(kind) { $0.headers.append(text, "a") }
    }

    @Test("a control character in a header value is never sent", arguments: TransportKind.allCases, Self.controls)
    func headerValue(kind: TransportKind, control: String) async throws {
        try await expectRefusal(kind) { $0.headers.append("X-A", "a\(control)b: c") }
    }

    @Test("a URL that is not http or https, or has no host, is never sent", arguments: TransportKind.allCases)
    func url(kind: TransportKind) async throws {
        for text in ["file:///etc/passwd", "ftp://127.0.0.1/", "data:,x", "/path", "http:///path", "ws://127.0.0.1/"] {
            let request = try HTTPRequest(.get, #require(URL(string: text)))
            #expect(try await kind.failure(of: request).kind == .invalidRequest)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `A file in which to store the response has a file URL`(_ kind: TransportKind) async throws {
        let file = try TemporaryFile(Data("kept".utf8))
        try await expectRefusal(kind) { $0.destination = .file(URL("https://127.0.0.1\(file.url.path)")) }
        #expect(try Data(contentsOf: file.url) == Data("kept".utf8))
    }

    @Test("a header value arrives byte by byte, or is never sent", arguments: TransportKind.allCases)
    func bytes(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let transport = try kind.make()
        for byte in UInt8.min...UInt8.max {
            let bytes = Array("a".utf8) + [byte] + Array("b".utf8)
            let headers = HTTPHeaders([HTTPField("X-A", bytes: bytes)])
            let count = server.totalRequests
            do {
                _ = try await transport.send(HTTPRequest(to: server, headers: headers), progress: nil)
                #expect(server.requests.last?.headers.contains(HeaderLine("X-A", bytes: bytes)) == true)
            } catch {
                #expect(error.kind == .invalidRequest && server.totalRequests == count)
            }
        }
    }

    @Test("path and query arrive unchanged", arguments: TransportKind.allCases)
    func target(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let transport = try kind.make()
        for text in [
            "%0D%0AX-A:1", "%00", "%7F", "ü", "%FF", "a%2Fb", "%2e%2e%2F", "%c3%bc%C3%bC", "\\", "'\"<>`{}|^", "中文",
        ] {
            let base = "http://127.0.0.1:\(server.port)"
            let url = try #require(URL(string: "\(base)/p\(text)?q=\(text)"))
            _ = try await transport.send(HTTPRequest(.get, url), progress: nil)
            let request = try #require(server.requests.last)
            #expect(request.headers["X-A"] == nil)
            #expect((base + request.target).lowercased() == url.absoluteString.lowercased())
            try await KnownFault.targetCase.known(for: kind) {
                #expect(base + request.target == url.absoluteString)
            }
        }
    }

    private func expectRefusal(_ kind: TransportKind, _ change: (inout HTTPRequest) -> Void) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        var request = HTTPRequest(to: server)
        change(&request)
        #expect(try await kind.failure(of: request).kind == .invalidRequest)
        #expect(server.totalConnections == 0)
    }

    private static let hostileTokens = [
        "", " ", "a b", "a\r\nX-A: 1", "a\n", "a\u{0}", "a\u{7F}", "ä", "a:b", "a/b", "\u{FF}",
    ]
    private static let controls = ["\r\n", "\r", "\n", "\u{0}", "\u{1}", "\u{8}", "\u{1F}", "\u{7F}"]
}
