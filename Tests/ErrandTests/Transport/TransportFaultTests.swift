import Errand
import FixtureServer
import Foundation
import Testing

@Suite("A hostile server", .takesTurns, .timeLimit(.minutes(10)))
struct TransportFaultTests {
    @Test("a closed port is an error within a second", .ownThread, .fault(1), arguments: TransportKind.allCases)
    func closedPort(kind: TransportKind) async throws {
        let request = try HTTPRequest(.get, #require(URL(string: "http://127.0.0.1:1/")))
        var durations: [Duration] = []
        for _ in 0..<3 {
            let start = ContinuousClock.now
            #expect(try await kind.failure(of: request).kind == .cannotConnect)
            durations.append(ContinuousClock.now - start)
        }
        // The fastest, because other tests keep the machine busy as well.
        #expect(durations.min() ?? .zero < .seconds(1))
    }

    @Test(
        "a server that never answers runs into the deadline",
        .ownThread,
        .fault(2),
        arguments: TransportKind.allCases
    )
    func noAnswer(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        try await expectTimeout(kind, of: server, after: .milliseconds(500))
    }

    @Test("a body that drips runs into the deadline", .ownThread, .fault(3), arguments: TransportKind.allCases)
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
        "header lines that drip run into the deadline",
        .ownThread,
        .fault(4),
        arguments: TransportKind.survivingCutHeads
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

    @Test("silence inside a body runs into the idle deadline", .ownThread, arguments: TransportKind.allCases)
    func silence(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"), .hang)
        }
        try await expectTimeout(kind, of: server, after: .milliseconds(300), isIdle: true)
    }

    @Test("a slow body that is never silent has no idle deadline", .ownThread, arguments: TransportKind.allCases)
    func slowBody(kind: TransportKind) async throws {
        let drops = Array(repeating: [Answer.Step.wait(.milliseconds(350)), .write("x")], count: 10).flatMap { $0 }
        let server = try FixtureServer.start { _ in
            Answer(status: 200, headers: ["Content-Length": "10"], steps: drops)
        }
        var request = HTTPRequest(to: server)
        request.timeout = .seconds(3)
        try await KnownFault.spin.known(for: kind) {
            let response = try await kind.send(request)
            #expect(response.body == Data("xxxxxxxxxx".utf8))
        }
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

    @Test("a body cut short is one error and no answer", .fault(8), arguments: TransportKind.allCases, CutBody.allCases)
    func cutBody(kind: TransportKind, body: CutBody) async throws {
        let server = try FixtureServer.start { _ in .script(.write(body.bytes), .close) }
        try await (body.isGzip ? KnownFault.cutGzip : nil).known(for: kind) {
            let error = try await kind.failure(of: HTTPRequest(to: server))
            #expect([.connectionLost, .badResponse].contains(error.kind))
        }
    }

    @Test("an answer in pieces is the answer", .fault(12), arguments: TransportKind.allCases)
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
        after deadline: Duration,
        isIdle: Bool = false
    ) async throws {
        var request = HTTPRequest(to: server)
        if isIdle { request.timeout = deadline } else { request.deadline = deadline }
        var durations: [Duration] = []
        for _ in 1...(CookieProbe.runsSlowTests ? 3 : 1) {
            let start = ContinuousClock.now
            #expect(try await kind.failure(of: request).kind == .timeout)
            durations.append(ContinuousClock.now - start)
            #expect(await server.waitForOpenConnections(0))
        }
        #expect(durations.allSatisfy { $0 >= deadline })
        // The fastest, because other tests keep the machine busy as well.
        if CookieProbe.runsSlowTests { #expect(durations.contains { $0 < deadline + .milliseconds(150) }) }
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

/// Answers whose body ends too early.
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

    /// Whether the framing is whole, and only what it frames is cut.
    var isGzip: Bool { self == .gzip || self == .gzipToTheEnd }

    var bytes: [UInt8] {
        Array("HTTP/1.1 200 OK\r\n\(rawValue)".utf8) + (isGzip ? GzipSample.bytes.prefix(20) : [])
    }
}
