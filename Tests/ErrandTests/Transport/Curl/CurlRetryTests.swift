#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// libcurl repeats a request whose persistent connection was lost, and may be unable to open another connection.
@Suite("A retry of libcurl without a connection", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlRetryTests {
    private let socket = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sock")
    private let transport: CurlTransport
    private let url = URL("http://daemon/")

    init() throws {
        var configuration = TransportConfiguration()
        configuration.unixSocketPath = socket.path
        transport = try CurlTransport(configuration)
    }

    /// A server that closes its first connection during the second request, and cannot be reached after that.
    private func start(isLost: Bool = true) throws -> FixtureServer {
        var options = ServerOptions()
        options.unixSocket = socket
        return try FixtureServer.start(options) { [socket] connection, turn in
            guard connection == 1, turn == 2 else { return .onRequest { _ in .text("ok") } }
            return .onRequest { _ in
                if isLost { unlink(socket.path) }
                return Response(steps: [.close])
            }
        }
    }

    @Test func `A POST that was sent before is lost, and not reported as unsent`() async throws {
        let server = try start()
        #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
        let post = HTTPRequest(.post, url, body: .data(Data("order".utf8)))
        let error = await #expect(throws: TransportError.self) { try await transport.send(post) }
        #expect(error?.kind == .connectionLost)
        #expect(server.requests.filter { $0.method == "POST" }.map(\.text) == ["order"])
    }

    @Test(arguments: [5, 6, 7, 45, 97])
    func `No code of a failed connection means that nothing was sent, after something was sent`(_ code: Int32) throws {
        let handle = try CurlHandle(CurlSettings(TransportConfiguration()))
        let exchange = try CurlExchange(HTTPRequest(.post, url), progress: nil)
        let unsent = handle.error(CurlCode(rawValue: code), of: exchange).kind
        #expect(unsent == .hostNotFound || unsent == .cannotConnect)
        #expect(exchange.beginAttempt())
        #expect(handle.error(CurlCode(rawValue: code), of: exchange).kind == .connectionLost)
    }

    @Test func `Many of these retries do not use up those of later requests`() async throws {
        // libcurl resets its count of retries after an error.
        for _ in 0..<5 {
            let server = try start()
            #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
            await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
            server.stop()
        }
        let server = try start(isLost: false)
        #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
        #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
        #expect(server.totalConnections == 2)
    }
}
#endif
