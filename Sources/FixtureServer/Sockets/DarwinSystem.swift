// Untested: everything is built and run on Linux; this is the same interface over kqueue.
#if canImport(Darwin)
import Darwin
import Foundation

/// The Darwin side of the system interfaces that differ between Linux and Darwin.
enum System {
    /// The type of a stream socket.
    static let streamSocket = SOCK_STREAM
    /// Flags for `send`; none, because `SO_NOSIGPIPE` prevents the signal.
    static let sendFlags: Int32 = 0
    /// The option level of TCP.
    static let tcpLevel = IPPROTO_TCP

    /// Makes a new socket close-on-exec and non-blocking, and prevents `SIGPIPE`.
    static func prepare(_ socket: Int32) {
        setCloseOnExecAndNonBlocking(socket)
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Accepts one connection, close-on-exec and non-blocking; returns -1 when there is none.
    static func accept(_ listener: Int32) -> Int32 {
        let connection = Darwin.accept(listener, nil, nil)
        if connection >= 0 { prepare(connection) }
        return connection
    }

    /// Creates a pipe whose ends are close-on-exec and non-blocking.
    static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Darwin.pipe(&ends) == 0 else { throw SystemError("pipe") }
        ends.forEach(setCloseOnExecAndNonBlocking)
        return (ends[0], ends[1])
    }

    private static func setCloseOnExecAndNonBlocking(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }
}

/// Waits for readiness of many descriptors at once, through `kqueue`, level-triggered.
final class Poller: Sendable {
    private static let capacity = 256
    private let queue: Descriptor

    init() throws {
        let number = kqueue()
        guard number >= 0 else { throw SystemError("kqueue") }
        queue = Descriptor(number)
    }

    /// Starts to watch `descriptor`; closing the descriptor ends it.
    func watch(_ descriptor: Int32, token: Int, for interest: Readiness) {
        rewatch(descriptor, token: token, for: interest)
    }

    /// Changes the readiness that is watched for.
    func rewatch(_ descriptor: Int32, token: Int, for interest: Readiness) {
        let changes = [(EVFILT_READ, Readiness.readable), (EVFILT_WRITE, Readiness.writable)].map {
            kevent(
                ident: UInt(descriptor),
                filter: Int16($0),
                flags: UInt16(EV_ADD | (interest.contains($1) ? EV_ENABLE : EV_DISABLE)),
                fflags: 0,
                data: 0,
                udata: UnsafeMutableRawPointer(bitPattern: token)
            )
        }
        _ = kevent(queue.number, changes, Int32(changes.count), nil, 0, nil)
    }

    /// Waits until a descriptor is ready or `milliseconds` have passed (-1: no limit), and reports the tokens.
    func wait(milliseconds: Int32, _ report: (_ token: Int, _ readiness: Readiness) -> Void) {
        var events = Array(repeating: kevent(), count: Self.capacity)
        var limit = timespec(tv_sec: Int(milliseconds) / 1000, tv_nsec: Int(milliseconds) % 1000 * 1_000_000)
        let count = withUnsafePointer(to: &limit) {
            kevent(queue.number, nil, 0, &events, Int32(Self.capacity), milliseconds < 0 ? nil : $0)
        }
        for event in events.prefix(max(0, Int(count))) {
            var readiness: Readiness = event.filter == EVFILT_READ ? .readable : .writable
            if event.flags & UInt16(EV_EOF) != 0 { readiness.insert(.hangUp) }
            report(Int(bitPattern: event.udata), readiness)
        }
    }
}
#endif
