#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Cancellation", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlCancellationTests {
    /// The progress of an exchange when its task is cancelled.
    enum Instant: CaseIterable {
        case beforeStart
        case waitingForHead
        case inHead
        case inBody

        var steps: [Response.Step] {
            switch self {
            case .inHead: [.write("HTTP/1.1 200 OK\r\nX: y")]
            case .inBody: [.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")]
            default: []
            }
        }
    }

    private let transport: CurlTransport

    init() throws {
        transport = try CurlTransport()
    }

    /// Starts a server that responds up to `instant`, then opens the gate of `arrival`, and hangs.
    private func start(_ instant: Instant, _ arrival: Response.Step = .open(.init())) throws -> FixtureServer {
        try FixtureServer.start { _ in
            Response(steps: instant.steps + [arrival, .hang])
        }
    }

    @Test(.fault(15), arguments: Instant.allCases)
    func `A cancelled exchange ends as cancelled and closes its connection`(_ instant: Instant) async throws {
        let arrival = Response.Step.open(.init())
        let server = try start(instant, arrival)
        let request = HTTPRequest(.post, server.url("/"))
        let task = Task { [transport] in
            if instant == .beforeStart { withUnsafeCurrentTask { $0?.cancel() } }
            return try await transport.send(request)
        }
        if instant != .beforeStart, case .open(let gate) = arrival { await gate.opened() }
        task.cancel()
        let result = await task.result
        #expect(throws: TransportError.self) { try result.get() }
        #expect((result.failure as? TransportError)?.kind == .cancelled)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test(.fault(22)) func `A cancelled upload closes its connection`() async throws {
        var options = ServerOptions()
        options.bodyHandling = { _ in .discard }
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        let file = try TemporaryFile(zeros: 1 << 40)
        let request = HTTPRequest(.post, server.url("/"), body: .file(file.url))
        let (moves, mover) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task { [transport] in try await transport.send(request) { mover.yield($0.completedBytes) } }
        for await bytes in moves where bytes > 1_000_000 { break }
        task.cancel()
        #expect((await task.result.failure as? TransportError)?.kind == .cancelled)
        #expect(await server.waitForOpenConnections(0))
        #expect(server.totalRequests == 0)
    }

    @Test func `Cancelling after the end changes nothing`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let task = Task { [transport] in try await transport.send(HTTPRequest(.get, server.url("/"))) }
        #expect(try await task.value.status == 200)
        task.cancel()
        #expect(try await transport.send(HTTPRequest(.get, server.url("/"))).status == 200)
        #expect(server.totalConnections == 1)
    }

    @Test(.fault(16)) func `Thousands of exchanges cancelled at random instants end once`() async throws {
        let exchanges = rounds(20_000)
        let server = try FixtureServer.start { _ in .text("ok").delayed(by: .milliseconds(2)) }
        let transport = try CurlTransport()
        let delays = Delays()
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<exchanges {
                if number >= 64 { #expect(await group.next() == true) }
                group.addTask { await Self.endsOnce(transport, server.url("/"), delays) }
            }
            for await isDone in group { #expect(isDone) }
        }
        let (responses, cancels) = delays.counts
        #expect(responses > 0 && cancels > 0 && responses + cancels == exchanges)
        #expect(try await transport.send(HTTPRequest(.get, server.url("/"))).status == 200)
    }

    /// The random delays of cancels, and how the exchanges have ended.
    private final class Delays: Sendable {
        private let state = Lock<(longest: Double, responses: Int, cancels: Int)>((0.004, 0, 0))

        var counts: (responses: Int, cancels: Int) { state.withLock { ($0.responses, $0.cancels) } }

        func next() -> Duration { .seconds(Double.random(in: 0...state.withLock { $0.longest })) }

        /// However slow the machine is, some exchanges soon end before their cancel, and some by it.
        func add(isResponse: Bool) {
            state.withLock { state in
                state.longest *= isResponse ? 0.998 : 1.002
                if isResponse { state.responses += 1 } else { state.cancels += 1 }
            }
        }
    }

    private static func endsOnce(_ transport: CurlTransport, _ url: URL, _ delays: Delays) async -> Bool {
        let task = Task { () async throws(TransportError) in try await transport.send(HTTPRequest(.get, url)) }
        try? await Task.sleep(for: delays.next())
        task.cancel()
        switch await task.result {
        case .success(let response):
            delays.add(isResponse: true)
            return response.body == Data("ok".utf8)
        case .failure(let error):
            delays.add(isResponse: false)
            return (error as? TransportError)?.kind == .cancelled
        }
    }

    @Test func `A cancelled download closes its connection`() async throws {
        let server = try start(.inBody)
        let folder = try TemporaryFolder()
        var request = HTTPRequest(.get, server.url("/"))
        request.destination = .file(folder.url.appending(path: "file"))
        let download = request
        let task = Task { [transport] in try await transport.send(download) }
        try await suspend(while: folder.names.isEmpty)
        task.cancel()
        _ = await task.result
        #expect(await server.waitForOpenConnections(0))
    }

    @Test func `A released transport closes its connections`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        var transport: CurlTransport? = try CurlTransport()
        _ = try await transport?.send(HTTPRequest(.get, server.url("/")))
        #expect(server.openConnections == 1)
        transport = nil
        #expect(await server.waitForOpenConnections(0))
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
#endif
