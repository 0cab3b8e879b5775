import Foundation

#if canImport(Darwin)
import Darwin
#endif

/// The operations that a descriptor is ready for, or is watched for.
struct Readiness: OptionSet {
    let rawValue: UInt8

    /// Bytes or the end of the stream can be read, or a connection accepted.
    static let readable = Readiness(rawValue: 1)
    /// Bytes can be written.
    static let writable = Readiness(rawValue: 2)
    /// The peer has closed the connection; watched for on every connection.
    static let hangUp = Readiness(rawValue: 4)
}

#if os(Linux)
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
#elseif canImport(Darwin)
/// Waits for readiness of many descriptors at once, through `kqueue`, level-triggered.
///
/// Untested.
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
        let reads = interest.contains(.readable)
        // The lowest bit of the user data is whether bytes are read; without it only the end of the stream is reported.
        let data = UnsafeMutableRawPointer(bitPattern: token << 1 | (reads ? 1 : 0))
        var reading = Self.change(of: descriptor, EVFILT_READ, isEnabled: reads || interest.contains(.hangUp), data)
        if !reads {
            (reading.fflags, reading.data) = (UInt32(NOTE_LOWAT), Int(Int32.max))
            // The system lowers the limit to the size of the receive buffer. With EV_CLEAR a full buffer is reported once and
            // not at every wait, and the end of the stream when it comes.
            reading.flags |= UInt16(EV_CLEAR)
        }
        // EV_CLEAR is set and cleared only when a filter is added, which reports its state again. Where there is no former
        // filter, the call that removes it fails.
        var former = reading
        former.flags = UInt16(EV_DELETE)
        _ = kevent(queue.number, [former], 1, nil, 0, nil)
        let writing = Self.change(of: descriptor, EVFILT_WRITE, isEnabled: interest.contains(.writable), data)
        _ = kevent(queue.number, [reading, writing], 2, nil, 0, nil)
    }

    private static func change(
        of descriptor: Int32,
        _ filter: Int32,
        isEnabled: Bool,
        _ data: UnsafeMutableRawPointer?
    ) -> kevent {
        kevent(
            ident: UInt(descriptor),
            filter: Int16(filter),
            flags: UInt16(EV_ADD | (isEnabled ? EV_ENABLE : EV_DISABLE)),
            fflags: 0,
            data: 0,
            udata: data
        )
    }

    /// Waits until a descriptor is ready or `milliseconds` have passed (-1: no limit), and reports the tokens.
    func wait(milliseconds: Int32, _ report: (_ token: Int, _ readiness: Readiness) -> Void) {
        var events: [kevent] = Array(repeating: kevent(), count: Self.capacity)
        var limit = timespec(tv_sec: Int(milliseconds) / 1000, tv_nsec: Int(milliseconds) % 1000 * 1_000_000)
        let count = withUnsafePointer(to: &limit) {
            kevent(queue.number, nil, 0, &events, Int32(Self.capacity), milliseconds < 0 ? nil : $0)
        }
        for event in events.prefix(max(0, Int(count))) {
            let data = Int(bitPattern: event.udata)
            report(data >> 1, Self.readiness(of: event, reads: data & 1 == 1))
        }
    }

    /// The readiness that an event reports; a connection that the peer has closed is reported by the filter that reads.
    private static func readiness(of event: kevent, reads: Bool) -> Readiness {
        guard event.filter == Int16(EVFILT_READ) else { return .writable }
        let readiness: Readiness = reads ? .readable : []
        return event.flags & UInt16(EV_EOF) == 0 ? readiness : readiness.union(.hangUp)
    }
}
#endif
