#if canImport(Darwin)
import Darwin
import Foundation

/// The system interfaces that differ between Linux and Darwin.
///
/// Untested.
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
        _ = hasRaisedLimit
        var ends: [Int32] = [-1, -1]
        guard Darwin.pipe(&ends) == 0 else { throw SystemError("pipe") }
        ends.forEach(setCloseOnExecAndNonBlocking)
        return (ends[0], ends[1])
    }

    /// Raises the limit of descriptors, which is 256 by default; a server and its clients in one process need more.
    private static let hasRaisedLimit: Bool = {
        var limit = rlimit()
        guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return false }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, rlim_t(OPEN_MAX)))
        return setrlimit(RLIMIT_NOFILE, &limit) == 0
    }()

    private static func setCloseOnExecAndNonBlocking(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }
}
#endif
