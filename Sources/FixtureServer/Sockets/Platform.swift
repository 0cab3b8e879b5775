import Foundation

#if canImport(Darwin)
import Darwin
#endif

#if os(Linux)
/// The system interfaces that differ between Linux and Darwin.
enum System {
    /// The type of a stream socket that is close-on-exec and does not block.
    static let streamSocket = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    /// Flags for `send` that prevent `SIGPIPE`.
    static let sendFlags = Int32(MSG_NOSIGNAL)
    /// The option level of TCP.
    static let tcpLevel = Int32(IPPROTO_TCP)

    /// Does nothing: a new socket is close-on-exec and non-blocking already.
    static func prepare(_ socket: Int32) {}

    /// Accepts one connection, close-on-exec and non-blocking; returns -1 when there is none.
    static func accept(_ listener: Int32) -> Int32 {
        Kernel.accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
    }

    /// Creates a pipe whose ends are close-on-exec and non-blocking.
    static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Kernel.pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { throw SystemError("pipe2") }
        return (ends[0], ends[1])
    }
}

/// The Linux calls that are missing in the C module, which is built without `_GNU_SOURCE`.
enum Kernel {
    typealias Pointer = UnsafeMutableRawPointer
    typealias Accept = @convention(c) @Sendable (Int32, Pointer?, Pointer?, Int32) -> Int32
    typealias Pipe = @convention(c) @Sendable (UnsafeMutablePointer<Int32>, Int32) -> Int32
    typealias EpollCreate = @convention(c) @Sendable (Int32) -> Int32
    typealias EpollControl = @convention(c) @Sendable (Int32, Int32, Int32, Pointer) -> Int32
    typealias EpollWait = @convention(c) @Sendable (Int32, Pointer, Int32, Int32) -> Int32

    static let accept4: Accept = find("accept4")
    static let pipe2: Pipe = find("pipe2")
    static let epollCreate: EpollCreate = find("epoll_create1")
    static let epollControl: EpollControl = find("epoll_ctl")
    static let epollWait: EpollWait = find("epoll_wait")

    private static func find<Call>(_ name: String) -> Call {
        guard let symbol = dlsym(nil, name) else { preconditionFailure("the C library has no \(name)") }
        return unsafeBitCast(symbol, to: Call.self)
    }
}
#elseif canImport(Darwin)
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
