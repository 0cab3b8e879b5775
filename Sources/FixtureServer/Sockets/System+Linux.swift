#if os(Linux)
import Foundation

/// The Linux calls that are missing in the C module, which is built without `_GNU_SOURCE`.
private enum Kernel {
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

/// Waits for readiness of many descriptors at once, through `epoll`, level-triggered.
final class Poller: Sendable {
    private static let add: Int32 = 1
    private static let change: Int32 = 3
    private static let closeOnExec: Int32 = 0o2_000_000
    private static let capacity = 64

    private let epoll: Descriptor

    init() throws {
        let number = Kernel.epollCreate(Self.closeOnExec)
        guard number >= 0 else { throw SystemError("epoll_create1") }
        epoll = Descriptor(number)
    }

    /// Starts to watch `descriptor`; closing the descriptor ends it.
    func watch(_ descriptor: Int32, token: Int, for interest: Readiness) {
        control(Self.add, descriptor, token, interest)
    }

    /// Changes the readiness that is watched for.
    func rewatch(_ descriptor: Int32, token: Int, for interest: Readiness) {
        control(Self.change, descriptor, token, interest)
    }

    /// Waits until a descriptor is ready or `milliseconds` have passed (-1: no limit), and reports the tokens.
    func wait(milliseconds: Int32, _ report: (_ token: Int, _ readiness: Readiness) -> Void) {
        EpollEvents.withCapacity(Self.capacity) { events in
            let count = Kernel.epollWait(epoll.number, events.base, Int32(Self.capacity), milliseconds)
            for index in 0..<max(0, Int(count)) {
                report(events.token(at: index), Readiness(epoll: events.bits(at: index)))
            }
        }
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ token: Int, _ interest: Readiness) {
        EpollEvents.withCapacity(1) { event in
            event.set(bits: interest.epollBits, token: token)
            _ = Kernel.epollControl(epoll.number, operation, descriptor, event.base)
        }
    }
}

/// An array of `struct epoll_event`, which is packed only on x86-64.
private struct EpollEvents {
    #if arch(x86_64)
    private static let stride = 12
    private static let tokenOffset = 4
    #else
    private static let stride = 16
    private static let tokenOffset = 8
    #endif

    let base: UnsafeMutableRawPointer

    static func withCapacity(_ capacity: Int, _ body: (EpollEvents) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: capacity * stride, alignment: 8) { bytes in
            guard let base = bytes.baseAddress else { return }
            body(EpollEvents(base: base))
        }
    }

    func bits(at index: Int) -> UInt32 {
        base.loadUnaligned(fromByteOffset: index * Self.stride, as: UInt32.self)
    }

    func token(at index: Int) -> Int {
        base.loadUnaligned(fromByteOffset: index * Self.stride + Self.tokenOffset, as: Int.self)
    }

    func set(bits: UInt32, token: Int) {
        base.storeBytes(of: bits, as: UInt32.self)
        base.storeBytes(of: token, toByteOffset: Self.tokenOffset, as: Int.self)
    }
}

extension Readiness {
    private static let input: UInt32 = 0x001
    private static let output: UInt32 = 0x004
    private static let failed: UInt32 = 0x008 | 0x010
    private static let peerClosed: UInt32 = 0x2000

    fileprivate init(epoll bits: UInt32) {
        self = []
        if bits & Self.input != 0 { insert(.readable) }
        if bits & Self.output != 0 { insert(.writable) }
        if bits & (Self.failed | Self.peerClosed) != 0 { insert(.hangUp) }
    }

    fileprivate var epollBits: UInt32 {
        Self.peerClosed | (contains(.readable) ? Self.input : 0) | (contains(.writable) ? Self.output : 0)
    }
}
#endif
