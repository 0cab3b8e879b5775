#if os(Linux)
import FixtureServer
import Foundation
import Testing
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("The watchdog of libcurl's loops", .mostlyWaits, .timeLimit(.minutes(10)))
struct CurlWatchdogTests {
    /// What the thread of a loop does inside one turn.
    enum Turn: CaseIterable {
        /// Reads a connection on which bytes arrive without an end.
        case endless
        /// The same, and libcurl passes a byte from time to time.
        case passing
        /// Waits.
        case waiting
        /// Uses the processor.
        case busy
    }

    @Test(arguments: Turn.allCases)
    func `Only a connection that is read without an end, and without a byte for the loop, is shut down`(
        _ turn: Turn
    ) async throws {
        let pair = try Pair(), neighbour = try Pair()
        let activity = try CurlActivity(#require(CurlSockets()))
        for pair in [pair, neighbour] { activity.sockets.add(pair.client) }
        neighbour.send(1_000)
        let writer = Thread { while turn == .endless || turn == .passing, pair.send(4_096) {} }
        writer.start()
        let isCut = await withCheckedContinuation { continuation in
            Thread {
                continuation.resume(returning: Self.run(turn, activity, pair))
            }.start()
        }
        #expect(isCut == (turn == .endless))
        #expect(activity.cutSockets == (turn == .endless ? 1 : 0))
        // The other socket of the turn is open, with its bytes.
        #expect(neighbour.receive() == 1_000)
        pair.end()
    }

    /// Runs one turn of two seconds at most; returns whether its connection was shut down.
    private static func run(_ turn: Turn, _ activity: CurlActivity, _ pair: Pair) -> Bool {
        activity.beginThread()
        activity.beginTurn()
        defer { activity.endTurn() }
        // The test fails at its limit if an endless turn is not ended.
        let end = turn == .endless ? .now + .seconds(60) : ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < end {
            switch turn {
            case .endless: if pair.receive() <= 0 { return true }
            case .passing:
                if pair.receive() <= 0 { return true }
                activity.receiveCall()
            // As libcurl waits: for a socket without bytes.
            case .waiting: pair.wait()
            case .busy: break
            }
        }
        return false
    }

    @Test func `A number that libcurl has closed and the process has opened again is not shut down`() throws {
        let sockets = try #require(CurlSockets())
        let old = try Pair()
        sockets.add(old.client)
        let number = old.client
        // Some versions of libcurl close a socket without the function that removes it.
        let new = try Pair()
        #expect(dup2(new.client, number) == number)
        new.send(100_000)
        sockets.beginMeasuring()
        for _ in 0..<10 {
            #expect(new.receive() > 0)
            sockets.measure()
        }
        #expect(!sockets.shutDownMostRead(bytes: 1, reads: 1))
        #expect(new.send(1))
    }

    @Test func `A socket that libcurl closes is closed and removed`() throws {
        let sockets = try #require(CurlSockets())
        let pair = try Pair()
        let copy = dup(pair.client)
        sockets.add(copy)
        pair.send(100_000)
        sockets.beginMeasuring()
        #expect(sockets.close(copy) == 0)
        #expect(fcntl(copy, F_GETFD) == -1)
        #expect(pair.receive() > 0)
        sockets.measure()
        #expect(!sockets.shutDownMostRead(bytes: 1, reads: 1))
    }

    @Test func `A loop without turns is forgotten, and its next turn is watched again`() throws {
        let activity = try CurlActivity(#require(CurlSockets()))
        activity.beginTurn()
        activity.endTurn()
        let watch = CurlWatch(activity)
        let checks = (1...20).first { _ in !watch.check() }
        #expect(checks == 11)
        activity.beginTurn()
        activity.endTurn()
        #expect(watch.check())
    }
}

/// Two connected sockets, of which one is a client's.
private final class Pair: Sendable {
    let client: Int32
    private let server: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        (client, server) = (ends[0], ends[1])
    }

    deinit {
        close(client)
        close(server)
    }

    /// Sends bytes to the client; `false` when its connection has ended.
    @discardableResult func send(_ count: Int) -> Bool {
        let bytes = [UInt8](repeating: 1, count: count)
        return Foundation.send(server, bytes, count, Int32(MSG_NOSIGNAL)) > 0
    }

    /// Returns how many bytes the client has received; 0 at the end.
    func receive() -> Int {
        var bytes = [UInt8](repeating: 0, count: 1_024)
        return recv(client, &bytes, bytes.count, 0)
    }

    /// Waits for bytes, 10 ms at most.
    func wait() {
        var descriptor = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, 10)
    }

    /// Ends the connection.
    func end() {
        shutdown(server, Int32(SHUT_RDWR))
    }
}

/// The client is another process, because libcurl may never return in it.
@Suite(
    "Servers that send without an end",
    .serialized,
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed")
)
struct CurlFloodTests {
    /// What ends the request; the names are those of `cookie-probe`.
    enum Limit: String, CaseIterable {
        case timeout, deadline, cancel, nothing

        var ending: String { self == .cancel ? "cancelled" : "timeout" }
    }

    /// Returns how the request has ended, and whether the requests to a neighbour were quick meanwhile and afterwards.
    private func endings(
        _ limit: Limit,
        _ flooding: URL,
        neighbour: URL,
        proxy: URL? = nil,
        authority: URL? = nil
    ) async throws -> [String] {
        let arguments = ["starve", limit.rawValue, flooding.absoluteString, neighbour.absoluteString]
        let paths = [proxy?.absoluteString ?? "-", authority?.path ?? "-"]
        return try await TestProgram.run([CookieProbe.path] + arguments + paths, deadline: .seconds(40)).lines
    }

    // MARK: HTTP/2

    /// Frames without a meaning for a request (RFC 9113 section 6).
    enum Frame: CaseIterable {
        case ping, pingAcknowledgement, priority, settings, windowUpdate, unknown

        var bytes: [UInt8] {
            switch self {
            case .ping: [0, 0, 8, 6, 0, 0, 0, 0, 0] + Array(repeating: 1, count: 8)
            case .pingAcknowledgement: [0, 0, 8, 6, 1, 0, 0, 0, 0] + Array(repeating: 1, count: 8)
            case .priority: [0, 0, 5, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 16]
            case .settings: [0, 0, 0, 4, 0, 0, 0, 0, 0]
            // Of a stream that has ended: one of the connection may add up to an error.
            case .windowUpdate: [0, 0, 4, 8, 0, 0, 0, 0, 1, 0, 0, 0, 1]
            case .unknown: [0, 0, 0, 0xFA, 0, 0, 0, 0, 0]
            }
        }
    }

    /// Each frame with a limit, and each limit with a frame; all pairs if the slow tests run.
    static let floods = Frame.allCases.enumerated().flatMap { index, frame in
        Limit.allCases.enumerated().filter { CookieProbe.runsSlowTests || ($0.offset + index) % 4 == 0 }
            .map { (frame, $0.element) }
    }

    @Test(arguments: floods)
    func `Frames of HTTP 2 without an end delay no other exchange, and the request ends in time`(
        _ frame: Frame,
        _ limit: Limit
    ) async throws {
        let authority = try TestAuthority.shared.get()
        let flooding = try HTTP2Server(authority) { _ in .flood(frame.bytes) }
        let neighbour = try FixtureServer.start { _ in .text("ok") }
        let lines = try await endings(
            limit,
            flooding.url("/"),
            neighbour: neighbour.baseURL,
            authority: authority.certificate
        )
        // libcurl may refuse such a flood itself, or the watchdog does before the limit.
        #expect([limit.ending, "connectionLost", "badResponse"].contains(lines.first), "\(lines)")
        #expect(lines.last == "quick", "\(lines)")
    }

    // MARK: CONNECT

    /// What a proxy server responds to `CONNECT`: the beginning, and what it repeats.
    static let refusals = [
        ("HTTP/1.1 407 No\r\nContent-Length: 9999999999\r\n\r\n", "x"),
        ("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
        ("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFF\r\n", "x"),
        ("HTTP/1.1 403 No\r\n", "X: y\r\n"), ("HTTP/1.1 200 OK\r\n", "X: y\r\n"),
        ("HTTP/1.1 200 OK\r\nX: y\r\n", " folded\r\n"), ("", "HTTP/1.1 100 Continue\r\n\r\n"), ("", "\r\n"),
        ("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n", "1;a=b\r\nx\r\n"),
    ]

    @Test(arguments: refusals.indices, [Limit.deadline, .nothing])
    func `A response to CONNECT without an end delays no other exchange, and has a limit`(
        _ refusal: Int,
        _ limit: Limit
    ) async throws {
        let (beginning, rest) = Self.refusals[refusal]
        let proxy = try FloodingProxy(beginning, rest)
        let lines = try await endings(
            limit,
            URL("https://api.example/"),
            neighbour: URL("http://neighbour.example/"),
            proxy: proxy.url
        )
        // libcurl refuses some of these itself, and on a slow machine the limit may be earlier.
        let endings = ["responseTooLarge", "cannotConnect", "badResponse", limit == .nothing ? nil : limit.ending]
        #expect(endings.contains(lines.first), "\(lines)")
        #expect(lines.last == "quick", "\(lines)")
    }
}

/// A proxy server that responds to `CONNECT` without an end, and other requests with 200.
private final class FloodingProxy: Sendable {
    private let listener: Int32
    private let port: UInt16

    init(_ beginning: String, _ rest: String) throws {
        (listener, port) = try Loopback.listen()
        Thread { [listener] in
            while case let socket = accept(listener, nil, nil), socket >= 0 {
                Thread {
                    Self.serve(socket, beginning, rest)
                    close(socket)
                }.start()
            }
            close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    var url: URL { URL("http://127.0.0.1:\(port)") }

    private static func serve(_ socket: Int32, _ beginning: String, _ rest: String) {
        var head = [UInt8](repeating: 0, count: 4_096)
        let count = recv(socket, &head, head.count, 0)
        guard count > 0 else { return }
        guard head.starts(with: "CONNECT ".utf8) else {
            _ = write(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            return
        }
        guard write(socket, beginning) else { return }
        let part = String(repeating: rest, count: 16_384 / rest.utf8.count)
        while write(socket, part) {}
    }

    private static func write(_ socket: Int32, _ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.isEmpty || send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0
    }
}
#endif
