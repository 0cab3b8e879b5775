#if canImport(Darwin)
import Darwin
import Foundation

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
