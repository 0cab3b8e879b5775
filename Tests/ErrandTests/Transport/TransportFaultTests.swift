import Dispatch
import Errand
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import ErrandTestSupport

@Suite("A hostile server", .mostlyWaits, .timeLimit(.minutes(10)))
struct TransportFaultTests {
    @Test("a closed port is an error within a second", .separateThread, .fault(1), arguments: TransportKind.allCases)
    func closedPort(kind: TransportKind) async throws {
        let request = try HTTPRequest(.get, #require(URL(string: "http://127.0.0.1:1/")))
        var durations: [Duration] = []
        for _ in 0..<3 {
            let start = ContinuousClock.now
            #expect(try await kind.failure(of: request).kind == .cannotConnect)
            durations.append(ContinuousClock.now - start)
        }
        // Only the fastest, because other tests use the machine as well.
        #expect(durations.min() ?? .zero < .seconds(1))
    }

    @Test(
        "a server that never responds ends at the deadline",
        .separateThread,
        .fault(2),
        arguments: TransportKind.allCases
    )
    func noResponse(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        try await expectTimeout(kind, of: server, after: .milliseconds(500))
    }

    @Test("a slow body ends at the deadline", .separateThread, .fault(3), arguments: TransportKind.allCases)
    func drippedBody(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(
                .write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
                .repeatForever(Array("x".utf8), every: .milliseconds(200))
            )
        }
        try await expectTimeout(kind, of: server, after: .seconds(1))
    }

    @Test(
        "slow header lines end at the deadline",
        .separateThread,
        .fault(4),
        arguments: TransportKind.supportingInterruptedHeads
    )
    func drippedHead(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(
                .write("HTTP/1.1 200 OK\r\n"),
                .repeatForever(Array("X-Drip: 1\r\n".utf8), every: .milliseconds(200))
            )
        }
        try await expectTimeout(kind, of: server, after: .seconds(1))
    }

    @Test(
        "silence ends as a timeout, wherever it begins",
        .separateThread,
        arguments: TransportKind.allCases,
        SilencePoint.allCases
    )
    func silence(kind: TransportKind, point: SilencePoint) async throws {
        guard point != .insideHead || TransportKind.supportingInterruptedHeads.contains(kind) else { return }
        let server = try point.startServer()
        try await (point == .insideHandshake ? KnownFault.authorities : nil).known(for: kind) {
            try await expectTimeout(kind, of: server, after: .milliseconds(400), at: point)
        }
    }

    #if os(Linux)
    @Test("a connection that the server does not accept ends as a timeout", arguments: TransportKind.allCases)
    func connecting(kind: TransportKind) async throws {
        guard kind == .urlSession else { return try await Self.endWhileConnecting(kind) }
        // See ``URLSessionTransport``: other tests must not share a process with it.
        await #expect(processExitsWith: .success) { try await Self.endWhileConnecting(.urlSession) }
    }

    private static func endWhileConnecting(_ kind: TransportKind) async throws {
        var options = ServerOptions()
        options.backlog = 1
        let server = try FixtureServer.start(options) { _ in .hang }
        await server.setAccepting(false)
        let transport = try kind.make()
        var request = HTTPRequest(to: server)
        request.timeout = .seconds(1)
        let isSeen = Gate()
        let look = Task {
            defer { isSeen.open() }
            try await until { try SocketTable.states(ofClientsOf: server.port).contains(.connecting) }
        }
        // Again, when the timeouts of a slow machine have passed before the sockets were looked at.
        repeat {
            // More than the backlog accepts: the others are still connecting when the timeout passes.
            let tasks = (0..<6).map { _ in Task { [request] in await transport.ending(of: request) } }
            for task in tasks { #expect(await task.value == .timeout) }
        } while !isSeen.isOpen
        try await look.value
    }
    #endif

    @Test(
        "a slow body that takes longer than the timeout is complete",
        .separateThread,
        arguments: TransportKind.allCases
    )
    func slowBody(kind: TransportKind) async throws {
        // URLSession on Linux waits in a loop that occupies a core.
        let (pause, timeout) = kind == .urlSession && KnownFault.isLinux ? (100, 1_600) : (250, 4_000)
        let drops = Array(repeating: [Response.Step.wait(.milliseconds(pause)), .write("x")], count: 20).flatMap { $0 }
        let server = try FixtureServer.start { _ in
            Response(status: 200, headers: ["Content-Length": "20"], steps: drops)
        }
        var request = HTTPRequest(to: server)
        request.timeout = .milliseconds(timeout)
        try await KnownFault.spin.known(for: kind) {
            let response = try await kind.send(request)
            #expect(response.body == Data(repeating: UInt8(ascii: "x"), count: 20))
        }
    }

    @Test(
        "a slow head that takes longer than the timeout is complete",
        .separateThread,
        arguments: TransportKind.supportingInterruptedHeads
    )
    func slowHead(kind: TransportKind) async throws {
        let drops = Array(repeating: [Response.Step.wait(.milliseconds(250)), .write("X-Drip: 1\r\n")], count: 20)
        let server = try FixtureServer.start { _ in
            Response(
                steps: [.write("HTTP/1.1 200 OK\r\n")] + drops.flatMap { $0 } + [.write("Content-Length: 0\r\n\r\n")]
            )
        }
        var request = HTTPRequest(to: server)
        request.timeout = .seconds(4)
        #expect(try await kind.send(request).headers.values("X-Drip").count == 20)
    }

    @Test("a reset connection is one error", .fault(5), arguments: TransportKind.allCases, ResetPoint.allCases)
    func reset(kind: TransportKind, point: ResetPoint) async throws {
        let server = try FixtureServer.start { _, _ in point.script }
        let error = try await kind.failure(of: HTTPRequest(to: server))
        #expect(error.kind == .connectionLost || point == .afterAccept && error.kind == .cannotConnect)
    }

    @Test("a connection closed before any byte is one error", .fault(6), arguments: TransportKind.allCases)
    func noBytes(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .script(.close) }
        #expect(try await kind.failure(of: HTTPRequest(to: server)).kind == .connectionLost)
    }

    @Test(
        "a truncated body is one error and no response",
        .fault(8),
        arguments: TransportKind.allCases,
        CutBody.allCases
    )
    func cutBody(kind: TransportKind, body: CutBody) async throws {
        let server = try FixtureServer.start { _ in .script(.write(body.bytes), .close) }
        try await (body.isGzip ? KnownFault.cutGzip : nil).known(for: kind) {
            let error = try await kind.failure(of: HTTPRequest(to: server))
            #expect([.connectionLost, .badResponse].contains(error.kind))
        }
    }

    @Test("a response in pieces is the response", .fault(12), arguments: TransportKind.allCases)
    func pieces(kind: TransportKind) async throws {
        let bytes = Array(
            "HTTP/1.1 200 OK\r\nX-Piece: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8
        )
        let server = try FixtureServer.start { _, turn in
            let cut = bytes.prefix(turn), rest = bytes.dropFirst(turn)
            return .onRequest(.write(Array(cut)), .wait(.milliseconds(2)), .write(Array(rest)))
        }
        let transport = try kind.make()
        for _ in 1..<bytes.count {
            let response = try await transport.send(HTTPRequest(to: server), progress: nil)
            #expect(response.body == Data("abc".utf8) && response.headers["X-Piece"] == "a")
        }
    }

    private func expectTimeout(
        _ kind: TransportKind,
        of server: FixtureServer,
        after limit: Duration,
        at point: SilencePoint? = nil
    ) async throws {
        var request = point?.request(to: server) ?? HTTPRequest(to: server)
        request.timeout = point == nil ? nil : limit
        request.deadline = point == nil ? limit : nil
        var durations: [Duration] = []
        for _ in 1...(CookieProbe.runsSlowTests ? 3 : 1) {
            let start = ContinuousClock.now
            let ending = try await kind.failure(of: request).kind
            #expect(ending == .timeout)
            if ending == .timeout { durations.append(ContinuousClock.now - start) }
            // A server that does not read does not see the end of the connection.
            if point != .insideUpload { #expect(await server.waitForOpenConnections(0)) }
        }
        #expect(durations.allSatisfy { $0 >= limit })
        // Only the fastest, because other tests use the machine as well.
        if CookieProbe.runsSlowTests { #expect(durations.contains { $0 < limit + .milliseconds(150) }) }
    }
}

/// Where an exchange stops transferring bytes.
enum SilencePoint: CaseIterable {
    case insideHandshake, insideUpload, beforeHead, insideHead, insideBody

    func startServer() throws -> FixtureServer {
        var options = ServerOptions()
        if self == .insideUpload { options.bodyHandling = { _ in .pause(after: 1_000, until: Gate()) } }
        let script = script
        return try FixtureServer.start(options) { _, _ in script }
    }

    func request(to server: FixtureServer) -> HTTPRequest {
        switch self {
        case .insideHandshake: HTTPRequest(.get, URL("https://127.0.0.1:\(server.port)/"))
        case .insideUpload: HTTPRequest(.post, to: server, body: .data(Data(repeating: 1, count: 50_000_000)))
        default: HTTPRequest(to: server)
        }
    }

    private var script: Script {
        switch self {
        case .insideHandshake: .onAccept(Response.hang)
        case .insideUpload, .beforeHead: .onRequest(.hang)
        case .insideHead: .onRequest(.write("HTTP/1.1 200 OK\r\nX-A: "), .hang)
        case .insideBody: .onRequest(.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"), .hang)
        }
    }
}

/// When a server resets the connection.
enum ResetPoint: CaseIterable {
    case afterAccept, afterRequest, insideHead, insideBody

    var script: Script {
        switch self {
        case .afterAccept: .onAccept(.reset)
        case .afterRequest: .onRequest(.reset)
        case .insideHead: .onRequest(.write("HTTP/1.1 200 OK\r\nX-A: "), .wait(.milliseconds(20)), .reset)
        case .insideBody:
            .onRequest(
                .write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"),
                .wait(.milliseconds(20)),
                .reset
            )
        }
    }
}

/// Responses whose body ends too early.
enum CutBody: String, CaseIterable {
    case length = "Content-Length: 1000\r\n\r\nabc"
    case chunkSize = "Transfer-Encoding: chunked\r\n\r\n3"
    case chunk = "Transfer-Encoding: chunked\r\n\r\n5\r\nab"
    case lastChunk = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    case lastLine = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
    case gzipLength = "Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n"
    case gzipGarbage = "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
    case gzip = "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"
    case gzipToTheEnd = "Content-Encoding: gzip\r\n\r\n"

    /// Whether the framing is complete, and only the coded stream is truncated.
    var isGzip: Bool { self == .gzip || self == .gzipToTheEnd }

    var bytes: [UInt8] {
        Array("HTTP/1.1 200 OK\r\n\(rawValue)".utf8) + (isGzip ? GzipSample.bytes.prefix(20) : [])
    }
}

@Suite("Unusual responses", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportFramingTests {
    @Test("a contradictory response is one error", .fault(9), arguments: TransportKind.allCases, BadResponse.allCases)
    func bad(kind: TransportKind, response: BadResponse) async throws {
        let server = try FixtureServer.start { _ in .script(.write(response.rawValue), .close) }
        let error = try await kind.failure(of: HTTPRequest(to: server))
        #expect([.badResponse, .connectionLost].contains(error.kind))
    }

    @Test("an unusual response is accepted", .fault(9), arguments: TransportKind.allCases, OddResponse.allCases)
    func odd(kind: TransportKind, odd: OddResponse) async throws {
        let server = try FixtureServer.start { _ in .script(.write(odd.bytes), .close) }
        let isRefused = odd.isRefusedByURLSession
        try await (isRefused ? KnownFault.headerSyntax : nil).known(for: kind) {
            let response = try await kind.send(HTTPRequest(to: server))
            #expect(response.status == odd.status)
            #expect(response.body == Data("abc".utf8))
        }
    }

    @Test("interim responses are ignored", .fault(10), arguments: TransportKind.allCases)
    func interim(kind: TransportKind) async throws {
        let early = "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\nSet-Cookie: early=1\r\n\r\n"
        let interim = "HTTP/1.1 100 Continue\r\n\r\n" + String(repeating: early, count: 500)
        let server = try FixtureServer.start { _ in
            .raw(interim + "HTTP/1.1 200 OK\r\nX-Late: 1\r\nContent-Length: 3\r\n\r\nabc")
        }
        let response = try await kind.send(HTTPRequest(to: server))
        #expect(response.status == 200 && response.body == Data("abc".utf8))
        #expect(response.headers["X-Late"] == "1" && response.headers["X-Early"] == nil)
        #expect(response.headers["Set-Cookie"] == nil)
    }

    @Test(
        "endless interim responses end at the deadline",
        .fault(10),
        arguments: TransportKind.supportingInterruptedHeads
    )
    func endlessInterim(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(.repeatForever(Array("HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n".utf8), every: .milliseconds(5)))
        }
        var request = HTTPRequest(to: server)
        request.deadline = .milliseconds(500)
        #expect(try await kind.failure(of: request).kind == .timeout)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test("responses on one connection are separated", arguments: TransportKind.allCases)
    func surplus(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _, turn in
            .onRequest(.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(turn)surplus"))
        }
        let transport = try kind.make()
        for _ in 0..<3 {
            let response = try await transport.send(HTTPRequest(to: server), progress: nil)
            #expect(response.body == Data("1".utf8))
        }
    }
}

/// Responses that a client must not accept.
enum BadResponse: String, CaseIterable {
    case garbage = "hello there\r\n\r\n"
    case version = "HTTP/9.9 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    case status = "HTTP/1.1 abc OK\r\nContent-Length: 3\r\n\r\nabc"
    case smallStatus = "HTTP/1.1 042 OK\r\nContent-Length: 3\r\n\r\nabc"
    case noColon = "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 3\r\n\r\nabc"
    case nulInValue = "HTTP/1.1 200 OK\r\nX-A: a\u{0}b\r\nContent-Length: 3\r\n\r\nabc"
    case lengths = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nabc"
    case listedLengths = "HTTP/1.1 200 OK\r\nContent-Length: 3, 2\r\n\r\nabc"
    case negativeLength = "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc"
    case wordLength = "HTTP/1.1 200 OK\r\nContent-Length: three\r\n\r\nabc"
    case chunkSize = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
    case negativeChunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n"
    case hugeChunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n"
}

/// Responses that are legal, or that every client accepts.
enum OddResponse: String, CaseIterable {
    case plain = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    case old = "HTTP/1.0 200 OK\r\n\r\nabc"
    case noLength = "HTTP/1.1 299 Odd\r\n\r\nabc"
    case surplus = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef"
    case sameLengths = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"
    case folded = "HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Length: 3\r\n\r\nabc"
    case bothFramings =
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    case chunkExtension = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\n\r\n"
    case noBlank = "HTTP/1.1 200 OK\r\nX-A:1\r\nContent-Length:3\r\n\r\nabc"
    case noReason = "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc"
    case bareLineFeed = "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc"
    case latin1 = "HTTP/1.1 200 OK\r\nX-A: \u{FF}\r\nContent-Length: 3\r\n\r\nabc"

    /// The bytes, one for each scalar.
    var bytes: [UInt8] { rawValue.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

    var status: Int { self == .noLength ? 299 : 200 }

    var isRefusedByURLSession: Bool {
        [.noBlank, .noReason, .bareLineFeed, .latin1].contains(self)
    }
}

@Suite("Responses that crash URLSession on Linux", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportCrashTests {
    @Test("a header block that is truncated at any byte is one error", .fault(7), arguments: TransportKind.survivors)
    func cutHead(kind: TransportKind) async throws {
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: b\r\n\r\n".utf8)
        let server = try FixtureServer.start { connection, _ in
            .onRequest(.write(Array(head.prefix(connection))), .close)
        }
        let transport = try kind.make()
        for _ in head {
            let ending = await transport.ending(of: HTTPRequest(to: server))
            #expect([.connectionLost, .badResponse].contains(ending))
        }
    }

    @Test("trailers are ignored", arguments: TransportKind.survivors)
    func trailers(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .chunked([Array("abc".utf8)], trailers: ["X-Trailer": "1", "Set-Cookie": "late=1"])
        }
        #expect(try await kind.send(HTTPRequest(to: server)).body == Data("abc".utf8))
    }

    @Test(
        "a redirect to a strange host is the response",
        .fault(14),
        arguments: TransportKind.survivors,
        ["//[::1]/", "//a%20b/", "//a%2Fb/"]
    )
    func location(kind: TransportKind, location: String) async throws {
        let server = try FixtureServer.start { _ in .redirect(to: location) }
        #expect(try await kind.send(HTTPRequest(to: server)).headers["Location"] == location)
    }

    #if os(Linux)
    @Test func `URLSession and a header block cut short`() async {
        await expectKnownCrash(.cutHead) {
            await #expect(processExitsWith: .success) {
                let server = try FixtureServer.start { _ in .script(.write("HTTP/1.1 200 OK\r\nX-A: "), .close) }
                _ = await URLSessionTransport().ending(of: HTTPRequest(to: server))
            }
        }
    }

    @Test func `URLSession and trailers`() async {
        await expectKnownCrash(.trailers) {
            await #expect(processExitsWith: .success) {
                let server = try FixtureServer.start { _ in .chunked([[1]], trailers: ["X-Trailer": "1"]) }
                _ = await URLSessionTransport().ending(of: HTTPRequest(to: server))
            }
        }
    }

    @Test func `URLSession and a redirect to a strange host`() async {
        await expectKnownCrash(.location) {
            await #expect(processExitsWith: .success) {
                let server = try FixtureServer.start { _ in .redirect(to: "//[::1]/") }
                _ = await URLSessionTransport().ending(of: HTTPRequest(to: server))
            }
        }
    }

    /// Accepts that a process succeeds, as with a later Foundation, or ends by the known trap, and nothing else.
    private func expectKnownCrash(_ fault: KnownFault, _ exit: () async -> Void) async {
        await withKnownIssue("\(fault.reason)", isIntermittent: true) {
            await exit()
        } matching: { issue in
            fault.isShown(by: issue)
        }
    }
    #endif
}

extension TransportKind {
    /// The transports that do not crash for the responses that crash URLSession on Linux.
    fileprivate static var survivors: [TransportKind] {
        #if canImport(Darwin)
        allCases
        #else
        allCases.filter { $0 != .urlSession }
        #endif
    }
}

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

/// Runs a test on a separate thread, so that it does not measure the load of the threads that tests share.
struct SeparateThreadTrait: TestTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(Executor()) { try await function() }
    }

    private final class Executor: TaskExecutor {
        private let queue = DispatchQueue(label: "separate thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == SeparateThreadTrait {
    /// Runs the test on a separate thread.
    static var separateThread: SeparateThreadTrait { SeparateThreadTrait() }
}
