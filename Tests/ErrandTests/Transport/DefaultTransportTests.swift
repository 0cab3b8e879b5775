@testable import Errand
import FixtureServer
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("The default transport", .limitedConcurrency, .timeLimit(.minutes(10)))
struct DefaultTransportTests {
    @Test("can be wrapped by another transport")
    func isWrapped() async throws {
        let server = try FixtureServer.start { _ in .text("hello") }
        defer { server.stop() }
        let transport = NotingTransport()
        let response = try await APIProxy(transport: transport).send(HTTPRequest(.get, server.url("/greeting")))
        #expect(response.text == "hello")
        #expect(transport.paths == ["/greeting"])
    }
}

/// Records requests and sends them through the default transport.
private final class NotingTransport: HTTPTransport {
    private let network = DefaultTransport.make()
    private let noted = Mutex<[String]>([])

    var paths: [String] { noted.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        noted.withLock { $0.append(request.url.path) }
        return try await network.send(request, progress: progress)
    }
}
