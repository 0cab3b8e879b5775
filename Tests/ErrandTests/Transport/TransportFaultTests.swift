import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("A hostile server", .limitedConcurrency, .timeLimit(.minutes(10)))
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
        let drops = Array(repeating: [Response.Step.wait(.milliseconds(250)), .write("x")], count: 20).flatMap { $0 }
        let server = try FixtureServer.start { _ in
            Response(status: 200, headers: ["Content-Length": "20"], steps: drops)
        }
        var request = HTTPRequest(to: server)
        request.timeout = .seconds(4)
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
