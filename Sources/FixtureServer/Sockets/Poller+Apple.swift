#if canImport(Darwin)
import Darwin

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
