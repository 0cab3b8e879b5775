@testable import Errand
@testable import ErrandTestSupport
import FixtureServer
import Foundation
import TestSupport
import Testing

@Suite("The transport of the platform", .limitedConcurrency, .timeLimit(.minutes(10)))
struct SystemTransportTests {
    @Test("can be wrapped by another transport")
    func isWrapped() async throws {
        let server = try FixtureServer.start { _ in .text("hello") }
        defer { server.stop() }
        let transport = NotingTransport()
        let response = try await APIProxy(transport: transport).send(HTTPRequest(.get, server.url("/greeting")))
        #expect(response.text == "hello")
        #expect(transport.paths == ["/greeting"])
    }

    @Test func `Its capacity is that of its configuration`() throws {
        var configuration = TransportConfiguration()
        (configuration.connectionsPerHost, configuration.connections) = (3, 5)
        #expect(try SystemTransport(configuration).capacity == TransportCapacity(of: configuration))
        #expect(SystemTransport().capacity == TransportCapacity())
    }
}

/// Records requests and sends them through the platform's transport.
private final class NotingTransport: HTTPTransport {
    private let network = SystemTransport()
    private let noted = Lock<[String]>([])

    var paths: [String] { noted.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        noted.withLock { $0.append(request.url.path) }
        return try await network.send(request, progress: progress)
    }
}
