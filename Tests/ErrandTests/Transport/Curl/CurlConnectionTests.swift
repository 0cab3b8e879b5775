#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Connections", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlConnectionTests {
    /// How a persistent connection is lost during the second request on it.
    enum Loss: CaseIterable {
        case close
        case reset
        case closeAfterHead

        var script: Script {
            switch self {
            case .close: .onRequest(.close)
            case .reset: .onRequest(.reset)
            case .closeAfterHead: .onHead(.close)
            }
        }
    }

    private static func server(losingConnectionBy loss: Loss) throws -> FixtureServer {
        try FixtureServer.start { connection, turn in
            connection == 1 && turn == 2 ? loss.script : .onRequest { _ in .text("ok") }
        }
    }

    // MARK: Lost connections

    @Test(arguments: ["GET", "PUT", "DELETE"], Loss.allCases)
    func `An idempotent request is sent again when its persistent connection is lost`(_ method: String, _ loss: Loss)
        async throws
    {
        let server = try Self.server(losingConnectionBy: loss)
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/first")))
        let body: HTTPBody = method == "PUT" ? .data(Data(repeating: 65, count: 200_000)) : .empty
        let response = try await transport.send(
            HTTPRequest(HTTPMethod(rawValue: method), server.url("/second"), body: body)
        )
        #expect(response.status == 200)
        #expect(server.totalConnections == 2)
        let last = try #require(server.requests.last)
        #expect(last.connection == 2)
        #expect(last.bodyCount == (method == "PUT" ? 200_000 : 0))
    }

    @Test(arguments: [0, 10, 200_000], Loss.allCases)
    func `A POST is never sent twice`(_ bodyBytes: Int, _ loss: Loss) async throws {
        let server = try Self.server(losingConnectionBy: loss)
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/first")))
        let body: HTTPBody = bodyBytes == 0 ? .empty : .data(Data(repeating: 65, count: bodyBytes))
        do {
            // Before 7.80, only a new connection prevents libcurl from repeating a request.
            _ = try await transport.send(HTTPRequest(.post, server.url("/second"), body: body))
            #expect(CurlLibrary.versionNumber < 0x07_5000)
        } catch {
            #expect(error.kind == .connectionLost)
        }
        _ = try await transport.send(HTTPRequest(.get, server.url("/third")))
        #expect(server.requests.filter { $0.method == "POST" }.count <= 1)
        #expect(server.requests.last?.path == "/third")
    }

    @Test func `A request is not repeated forever when each connection is lost`() async throws {
        let server = try FixtureServer.start { connection, turn in
            turn == 1 && connection == 1 ? .onRequest { _ in .text("ok") } : .onRequest(.close)
        }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/")))
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(HTTPRequest(.get, server.url("/")))
        }
        #expect(error?.kind == .connectionLost)
        #expect(server.totalRequests == 3)
    }

    @Test func `Each request is repeated, however many connections were lost before`() async throws {
        let server = try FixtureServer.start { _, turn in
            turn == 1 ? .onRequest { _ in .text("ok") } : .onRequest(.close)
        }
        let transport = try CurlTransport()
        for _ in 0..<20 {
            #expect(try await transport.send(HTTPRequest(.get, server.url("/"))).status == 200)
        }
    }

    @Test func `A connection that the server closed in the meantime is not used`() async throws {
        let server = try FixtureServer.start { _ in Response.text("ok").followed(by: .close) }
        let transport = try CurlTransport()
        for count in 1...2 {
            let request = HTTPRequest(.post, server.url("/"), body: .data(Data("abc".utf8)))
            #expect(try await transport.send(request).status == 200)
            #expect(await server.waitForOpenConnections(0))
            #expect(server.totalConnections == count)
        }
    }

    // MARK: Persistent connections

    @Test func `Requests one after the other share a connection`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let transport = try CurlTransport()
        for _ in 0..<100 { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) }
        #expect(server.totalConnections == 1)
    }

    // MARK: Failing to connect

    @Test func `A closed port is a connection error`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let url = server.url("/?secret=1")
        server.stop()
        let transport = try CurlTransport()
        let error = await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.kind == .cannotConnect)
        #expect(error?.reason.contains("secret") == false)
    }

    @Test(arguments: [0, 1, 2])
    func `A connection that ends before a response is lost`(_ steps: Int) async throws {
        let script = [Script.onAccept(.close), .onAccept(.reset), .onRequest(.close)][steps]
        let server = try FixtureServer.start { _, _ in script }
        let transport = try CurlTransport()
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(HTTPRequest(.get, server.url("/")))
        }
        // The reset may be received before the connection is open.
        #expect(error?.kind == .connectionLost || steps == 1 && error?.kind == .cannotConnect)
    }

    @Test(arguments: ["localhost", "a.b.localhost", "[::1]"])
    func `Names and IPv6 literals reach the server`(_ host: String) async throws {
        var options = ServerOptions()
        options.listensOnIPv6 = true
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        let transport = try CurlTransport()
        #expect(try await transport.send(HTTPRequest(.get, server.url("/", host: host))).status == 200)
        #expect(server.requests.first?.header("Host") == "\(host):\(server.port)")
    }
}
#endif
