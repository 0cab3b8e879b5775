import Dispatch
public import Foundation

/// The clock of a proxy: for deadlines, back-off, `Retry-After` and the age of cookies.
///
/// All members are called on any thread. Apps use ``SystemClock``; a test uses another one, such as `ManualClock` of ErrandTesting.
public protocol APIClock: Sendable {
    /// The time since a fixed moment; it never decreases, even if the date changes.
    var uptime: Duration { get }

    /// The current date.
    var date: Date { get }

    /// Waits until `duration` has passed.
    ///
    /// - Throws: At once, when the task is cancelled.
    func sleep(for duration: Duration) async throws(CancellationError)
}

/// The monotonic clock, which changes of the date do not affect.
package enum MonotonicClock {
    /// Nanoseconds since a fixed point in the past.
    package typealias Instant = Int64

    package static var now: Instant { Int64(DispatchTime.now().uptimeNanoseconds) }
}
