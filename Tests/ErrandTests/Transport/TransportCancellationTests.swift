@testable import Errand
@testable import ErrandTestSupport
import FixtureServer
import Foundation
import TestSupport
import Testing

@Suite("Cancellation of an exchange", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportCancellationTests {
    @Test(
        "a cancelled task ends as cancelled, and its connection is closed",
        .fault(15),
        arguments: CancellationPoint.survived
    )
    func cancel(kind: TransportKind, point: CancellationPoint) async throws {
        let scene = try CancellationScene(point)
        let transport = try kind.make()
        let task = scene.send(through: transport)
        await scene.reached()
        task.cancel()
        #expect(await task.value == .cancelled)
        let reports = scene.reportCount
        #expect(await scene.server.waitForOpenConnections(0))
        #expect(scene.reportCount == reports)
    }

    @Test("a task cancelled before it starts sends nothing", .fault(15), arguments: TransportKind.allCases)
    func beforeStart(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let transport = try kind.make()
        let kind = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await transport.ending(of: HTTPRequest(to: server))
        }.value
        #expect(kind == .cancelled)
        #expect(server.totalConnections == 0)
    }

    #if os(Linux)
    @Test("a task cancelled while it connects ends as cancelled", .fault(15), arguments: TransportKind.allCases)
    func connecting(kind: TransportKind) async throws {
        guard kind == .urlSession else { return try await Self.cancelWhileConnecting(kind) }
        // See ``URLSessionTransport``: other tests must not share a process with it.
        await #expect(processExitsWith: .success) { try await Self.cancelWhileConnecting(.urlSession) }
    }

    private static func cancelWhileConnecting(_ kind: TransportKind) async throws {
        var options = ServerOptions()
        options.backlog = 1
        let server = try FixtureServer.start(options) { $0.path == "/first" ? .status(200) : .hang }
        _ = try await kind.send(HTTPRequest(to: server, "/first"))
        await server.setAccepting(false)
        let transport = try kind.make()
        let tasks = (0..<6).map { _ in Task { await transport.ending(of: HTTPRequest(to: server)) } }
        try await until { try SocketTable.states(ofClientsOf: server.port).contains(.connecting) }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == .cancelled) }
        try await until {
            try SocketTable.states(ofClientsOf: server.port).isDisjoint(with: [.connecting, .connected])
        }
    }

    @Test("a cancelled upload closes its file and its connection", .fault(22), arguments: TransportKind.allCases)
    func uploadFile(kind: TransportKind) async throws {
        let scene = try CancellationScene(.insideUpload)
        let path = scene.file.url.path
        let transport = try kind.make()
        let task = scene.send(through: transport)
        await scene.reached()
        #expect(try SocketTable.openFiles().contains(path))
        let start = ContinuousClock.now
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(try !SocketTable.openFiles().contains(path))
        #expect(await scene.server.waitForOpenConnections(0))
        if CookieProbe.runsSlowTests { #expect(start.duration(to: .now) < .seconds(1)) }
    }
    #endif

    @Test("cancelled at random instants, each ends once", .fault(16), arguments: TransportKind.allCases)
    func random(kind: TransportKind) async throws {
        #if os(Linux)
        if kind == .urlSession {
            // Some are cancelled while they connect, see above.
            await #expect(processExitsWith: .success) { try await Self.cancelAtRandomInstants(.urlSession) }
            return
        }
        #endif
        try await Self.cancelAtRandomInstants(kind)
    }

    private static func cancelAtRandomInstants(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok").delayed(by: .milliseconds(2)) }
        let transport = try kind.make()
        let endings = await endings(rounds: 125) {
            var longest = 0.004
            return {
                let task = Task { await transport.ending(of: HTTPRequest(to: server)) }
                try? await Task.sleep(for: .seconds(Double.random(in: 0...longest)))
                task.cancel()
                let ending = await task.value
                // However slow the machine is, some soon end before their cancel, and some by it.
                longest *= ending == nil ? 0.95 : 1.1
                return ending
            }
        }
        #expect(endings.count == 8 * 125)
        #expect(endings.allSatisfy { $0 == nil || $0 == .cancelled })
        #expect(endings.contains { $0 == nil } && endings.contains { $0 == .cancelled })
        #expect(await transport.ending(of: HTTPRequest(to: server)) == nil)
    }

    @Test("many cancelled at once all end as cancelled", arguments: TransportKind.allCases)
    func many(kind: TransportKind) async throws {
        #if os(Linux)
        if kind == .urlSession {
            await #expect(processExitsWith: .success) { try await Self.cancelMany(.urlSession) }
            return
        }
        #endif
        try await Self.cancelMany(kind)
    }

    private static func cancelMany(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        let transport = try kind.make()
        let tasks = (0..<300).map { _ in Task { await transport.ending(of: HTTPRequest(to: server)) } }
        #expect(await server.waitForTotalRequests(6))
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == .cancelled) }
        #expect(await server.waitForOpenConnections(0))
    }

    @Test("a response at the instant of the deadline ends once", .fault(21), arguments: TransportKind.allCases)
    func deadline(kind: TransportKind) async throws {
        #if os(Linux)
        if kind == .urlSession {
            await #expect(processExitsWith: .success) { try await Self.respondAtDeadlines(.urlSession) }
            return
        }
        #endif
        try await Self.respondAtDeadlines(kind)
    }

    private static func respondAtDeadlines(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok").delayed(by: .milliseconds(5)) }
        let transport = try kind.make()
        let endings = await endings(rounds: 125) {
            var deadline = 0.005
            return {
                var request = HTTPRequest(to: server)
                request.deadline = .seconds(deadline)
                let ending = await transport.ending(of: request)
                // However slow the machine is, the deadline soon matches the time of the responses.
                deadline *= ending == nil ? 0.95 : 1.1
                return ending
            }
        }
        #expect(endings.count == 1_000)
        #expect(endings.allSatisfy { $0 == nil || $0 == .timeout })
        #expect(endings.count { $0 == nil } > 100)
        #expect(endings.count { $0 == .timeout } > 100)
        #expect(await transport.ending(of: HTTPRequest(to: server)) == nil)
    }

    /// How the exchanges of eight concurrent tasks ended, each of which calls the function that `exchange` returns.
    private static func endings(
        rounds: Int,
        of exchange: @escaping @Sendable () -> () async -> TransportError.Kind?
    ) async -> [TransportError.Kind?] {
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let next = exchange()
                    var endings: [TransportError.Kind?] = []
                    for _ in 0..<rounds { endings.append(await next()) }
                    return endings
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}

/// The progress of an exchange when it is cancelled.
enum CancellationPoint: CaseIterable {
    case waiting, insideHead, insideBody, insideUpload

    /// Each transport with the points at which it does not crash; see ``TransportKind/supportingInterruptedHeads``.
    static let survived = TransportKind.allCases.flatMap { kind in
        allCases.filter { $0 != .insideHead || TransportKind.supportingInterruptedHeads.contains(kind) }.map {
            (kind, $0)
        }
    }
}

/// A server that stops an exchange at one point, and the request that reaches the point.
private final class CancellationScene: Sendable {
    let server: FixtureServer
    let file: TemporaryFile
    private let point: CancellationPoint
    private let reports = Lock(0)
    private let (moved, move) = AsyncStream<Void>.makeStream()

    init(_ point: CancellationPoint) throws {
        var options = ServerOptions()
        options.bodyHandling = { _ in .discard }
        let script = Self.script(point)
        self.point = point
        server = try FixtureServer.start(options) { _, _ in script }
        file = try TemporaryFile(zeros: 10 << 30)
    }

    /// How often progress was reported.
    var reportCount: Int { reports.withLock { $0 } }

    func send(through transport: any HTTPTransport) -> Task<TransportError.Kind?, Never> {
        let body = point == .insideUpload ? HTTPBody.file(file.url) : .empty
        let request = HTTPRequest(point == .insideUpload ? .put : .get, to: server, body: body)
        return Task {
            await transport.ending(of: request) { _ in
                self.reports.withLock { $0 += 1 }
                self.move.yield()
            }
        }
    }

    /// Waits until the exchange reaches its point.
    func reached() async {
        switch point {
        case .waiting, .insideHead: _ = await server.waitForTotalRequests(1)
        case .insideBody, .insideUpload: for await _ in moved { return }
        }
    }

    private static func script(_ point: CancellationPoint) -> Script {
        switch point {
        case .waiting, .insideUpload: .onRequest(.hang)
        case .insideHead: .onRequest(.write("HTTP/1.1 200 OK\r\nX-A: "), .hang)
        case .insideBody: .onRequest(.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"), .hang)
        }
    }
}
