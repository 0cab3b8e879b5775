import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite(
    "A persistent connection that is lost during a request",
    .fault(11),
    .limitedConcurrency,
    .timeLimit(.minutes(10))
)
struct TransportReplayTests {
    @Test(
        "an idempotent request is repeated with its whole body",
        arguments: TransportKind.allCases,
        [HTTPMethod.get, .put, .delete]
    )
    func idempotent(kind: TransportKind, method: HTTPMethod) async throws {
        let server = try Self.server()
        let transport = try kind.make()
        _ = try await transport.send(HTTPRequest(to: server, "/first"), progress: nil)
        let body = method == .get ? HTTPBody.empty : .data(Self.data)
        let response = try await transport.send(HTTPRequest(method, to: server, "/second", body: body), progress: nil)
        #expect(response.status == 200)
        let requests = server.requests.filter { $0.path == "/second" }
        #expect(requests.count <= 2)
        #expect(requests.allSatisfy { $0.body.count == (method == .get ? 0 : Self.data.count) })
    }

    @Test("all pieces of a repeated body are read again from the beginning", arguments: TransportKind.allCases)
    func pieces(kind: TransportKind) async throws {
        let server = try Self.server()
        let transport = try kind.make()
        _ = try await transport.send(HTTPRequest(to: server, "/first"), progress: nil)
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let file = try TemporaryFile(Data(bytes))
        let body = HTTPBody([.data(Data(bytes)), .file(file.url)])
        _ = try await transport.send(HTTPRequest(.put, to: server, "/second", body: body), progress: nil)
        let bodies = server.requests.filter { $0.path == "/second" }.map(\.body)
        #expect(bodies == [bytes + bytes, bytes + bytes])
    }

    @Test("a POST is never processed twice", arguments: TransportKind.allCases, [Self.data, Data()])
    func post(kind: TransportKind, data: Data) async throws {
        let server = try Self.server()
        let transport = try kind.make()
        _ = try await transport.send(HTTPRequest(to: server, "/first"), progress: nil)
        let request = HTTPRequest(.post, to: server, "/second", body: .data(data))
        let response = try? await transport.send(request, progress: nil)
        #expect(response == nil || response?.status == 200)
        let requests = server.requests.filter { $0.path == "/second" }
        #expect(requests.count == 1)
        #expect(requests.allSatisfy { $0.body.count == data.count })
    }

    private static let data = Data(repeating: 7, count: 300_000)

    /// Responds to the first request of a connection; on the first connection, receives the second request completely and closes.
    private static func server() throws -> FixtureServer {
        try FixtureServer.start { connection, turn in
            connection == 1 && turn == 2 ? .onRequest(.close) : .onRequest { _ in .text("ok") }
        }
    }
}
