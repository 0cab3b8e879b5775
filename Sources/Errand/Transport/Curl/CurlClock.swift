#if os(Linux)
import Foundation

/// The monotonic clock in nanoseconds, which no change of the date moves.
enum CurlClock {
    /// Nanoseconds since a point in the past.
    typealias Instant = Int64

    /// The present instant.
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
#endif
