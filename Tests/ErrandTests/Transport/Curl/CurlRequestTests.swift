#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Requests that libcurl sends", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlRequestTests {
    private let server: FixtureServer
    private let transport: CurlTransport

    init() throws {
        server = try FixtureServer.start { _ in .text("ok") }
        transport = try CurlTransport()
    }

    private func recorded(_ request: HTTPRequest) async throws -> RecordedRequest {
        let response = try await transport.send(request)
        #expect(response.status == 200)
        return try await server.takeRequest()
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "get"])
    func `The method is on the request line unchanged`(_ method: String) async throws {
        let request = HTTPRequest(HTTPMethod(rawValue: method), server.url("/a/../b/./c?q=%2F&r"))
        let recorded = try await recorded(request)
        #expect(recorded.method == method)
        #expect(recorded.target == "/a/../b/./c?q=%2F&r")
    }

    @Test func `A HEAD request has a response without a body`() async throws {
        let response = try await transport.send(HTTPRequest(.head, server.url("/")))
        #expect(response.headers["Content-Length"] == "2")
        #expect(response.body.isEmpty)
        #expect(try await server.takeRequest().method == "HEAD")
    }

    @Test func `A HEAD request with a body is refused`() async throws {
        let request = HTTPRequest(.head, server.url("/"), body: .data(Data("x".utf8)))
        await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(server.totalConnections == 0)
    }

    @Test(arguments: ["POST", "PUT", "PATCH"])
    func `A request that usually has a body has the length 0 without one`(_ method: String) async throws {
        let recorded = try await recorded(HTTPRequest(HTTPMethod(rawValue: method), server.url("/")))
        #expect(recorded.headers.values("Content-Length") == ["0"])
        #expect(recorded.header("Content-Type") == nil)
        #expect(recorded.header("Transfer-Encoding") == nil)
    }

    @Test(arguments: ["GET", "DELETE", "OPTIONS"])
    func `A request that usually has no body has no length without one`(_ method: String) async throws {
        let recorded = try await recorded(HTTPRequest(HTTPMethod(rawValue: method), server.url("/")))
        #expect(recorded.header("Content-Length") == nil)
        #expect(recorded.header("Transfer-Encoding") == nil)
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "PURGE"], [0, 1, 65_536, 65_537, 300_000])
    func `A body of bytes arrives complete with its length`(_ method: String, _ count: Int) async throws {
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let recorded = try await recorded(HTTPRequest(HTTPMethod(rawValue: method), server.url("/"), body: .data(body)))
        #expect(recorded.method == method)
        #expect(recorded.headers.values("Content-Length") == [String(count)])
        #expect(recorded.header("Transfer-Encoding") == nil)
        #expect(recorded.header("Content-Type") == nil)
        #expect(recorded.header("Expect") == nil)
        #expect(recorded.body == Array(body))
    }

    @Test func `Pieces from memory and from files arrive in their order`() async throws {
        let file = try TemporaryFile(Data(repeating: UInt8(ascii: "f"), count: 100_000))
        let body = HTTPBody([.data(Data("<".utf8)), .file(file.url), .data(Data(">".utf8))])
        let recorded = try await recorded(HTTPRequest(.post, server.url("/"), body: body))
        #expect(recorded.text == "<" + String(repeating: "f", count: 100_000) + ">")
        #expect(recorded.headers.values("Content-Length") == ["100002"])
    }

    @Test func `A missing file is refused before a byte is sent`() async throws {
        let request = HTTPRequest(.post, server.url("/"), body: .file(URL(fileURLWithPath: "/nowhere/at/all")))
        let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(server.totalConnections == 0)
    }

    @Test func `Header lines are sent in order, with duplicates and empty ones`() async throws {
        let headers: HTTPHeaders = [
            "X-One": "1", "x-two": "a; b", "X-Empty": "", "X-One": "2", "X-Blank": "  ",
            "X-Long": String(repeating: "l", count: 9_000),
            "Accept": "text/x", "User-Agent": "Errand", "Content-Type": "a/b", "Cookie": "a=b",
            "Authorization": "Bearer t",
        ]
        let recorded = try await recorded(HTTPRequest(.post, server.url("/"), headers: headers, body: .data(Data([1]))))
        let names = Set(headers.map(\.name))
        let sent = recorded.headers.filter { names.contains($0.name) }.map { [$0.name, $0.value] }
        #expect(sent == headers.map { [$0.name, $0.name == "X-Blank" ? "" : $0.value] })
    }

    @Test func `Header values are sent byte by byte`() async throws {
        let latin = HTTPField("X-Latin", bytes: [UInt8(ascii: "c"), 0xE9, 0xFF, 0x80])
        let request = HTTPRequest(.get, server.url("/"), headers: HTTPHeaders([latin, HTTPField("X-Unicode", "日本")]))
        let recorded = try await recorded(request)
        #expect(recorded.headers.first { $0.name == "X-Latin" }?.bytes == latin.bytes)
        #expect(recorded.headers.first { $0.name == "X-Unicode" }?.value == "日本")
    }

    @Test func `Header lines that frame the message are written by the transport`() async throws {
        let headers: HTTPHeaders = [
            "Content-Length": "99", "Transfer-Encoding": "chunked", "Host": "other", "X-A": "1",
        ]
        let recorded = try await recorded(
            HTTPRequest(.post, server.url("/"), headers: headers, body: .data(Data("abc".utf8)))
        )
        #expect(recorded.headers.values("Content-Length") == ["3"])
        #expect(recorded.header("Transfer-Encoding") == nil)
        #expect(recorded.headers.values("Host") == ["127.0.0.1:\(server.port)"])
        #expect(recorded.text == "abc")
    }

    @Test func `The next request on the same handle contains nothing of the one before`() async throws {
        let big = Data(repeating: 7, count: 100_000)
        _ = try await recorded(HTTPRequest(.put, server.url("/1"), headers: ["X-A": "1"], body: .data(big)))
        _ = try await recorded(HTTPRequest(.post, server.url("/2"), body: .data(Data("abc".utf8))))
        _ = try await recorded(HTTPRequest(.head, server.url("/3")))
        let last = try await recorded(HTTPRequest(.get, server.url("/4")))
        #expect(last.method == "GET")
        #expect(last.body.isEmpty)
        #expect(last.headers.map(\.name) == ["Host", "Accept", "Accept-Encoding"])
        #expect(server.totalConnections == (CurlLibrary.versionNumber < 0x07_5000 ? 2 : 1))
    }

    @Test func `A fragment is not sent, and a long query arrives`() async throws {
        let query = String(repeating: "x", count: 20_000)
        let recorded = try await recorded(HTTPRequest(.get, server.url("/a?\(query)#b")))
        #expect(recorded.target == "/a?\(query)")
    }

    @Test func `A request with Expect waits for the server before the body is sent`() async throws {
        let body = HTTPBody.data(Data(repeating: 1, count: 2_000_000))
        let recorded = try await recorded(
            HTTPRequest(.put, server.url("/"), headers: ["Expect": "100-continue"], body: body)
        )
        #expect(recorded.header("Expect") == "100-continue")
        #expect(recorded.bodyCount == 2_000_000)
    }

    @Test(arguments: [HTTPMethod.post, .put])
    func `A 417 to a request with Expect is its response`(_ method: HTTPMethod) async throws {
        let server = try FixtureServer.start { _, _ in .onHead { _ in .text("no", status: 417) } }
        let request = HTTPRequest(
            method,
            server.url("/"),
            headers: ["Expect": "100-continue"],
            body: .data(Data(repeating: 1, count: 2_000_000))
        )
        let response = try await transport.send(request)
        // Its body is not passed on by all versions of libcurl.
        #expect(response.status == 417)
        #expect(server.totalRequests == 1)
    }

    @Test func `A request that could forge another one is refused`() async throws {
        let request = HTTPRequest(.get, server.url("/"), headers: ["X-A": "1\r\nX-B: 2"])
        let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(server.totalConnections == 0)
    }
}
#endif
