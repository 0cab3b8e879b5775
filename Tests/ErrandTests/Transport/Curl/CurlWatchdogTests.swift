#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Errand

@Suite("The watchdog of libcurl's loops", .limitedConcurrency, .timeLimit(.minutes(10)))
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
#endif
