import Dispatch
public import Foundation

/// The clock of the machine.
public struct SystemClock: APIClock {
    private static let start = ContinuousClock.now
    // A century; the runtime cannot count to the end of a wait of `Int64.max` seconds.
    private static let longestSleep = Duration.seconds(36_525 * 86_400 as Int64)

    /// Creates the clock; all of them show the same time.
    public init() {}

    /// The time since the first use of the clock, including the time in which the machine sleeps.
    public var uptime: Duration { Self.uptime }

    /// The same for all clocks.
    package static var uptime: Duration { start.duration(to: .now) }

    /// Returns the uptime at an instant.
    // Events store uptimes: the runtime has to lay out, copy and destroy a structure that contains an instant.
    package static func uptime(at instant: ContinuousClock.Instant) -> Duration { start.duration(to: instant) }

    package static func instant(of uptime: Duration) -> ContinuousClock.Instant { start + uptime }

    /// The current date.
    public var date: Date { .now }

    /// Waits until `duration` has passed.
    ///
    /// - Throws: At once, when the task is cancelled.
    public func sleep(for duration: Duration) async throws(CancellationError) {
        do {
            try await Task.sleep(for: min(duration, Self.longestSleep), clock: .continuous)
        } catch {
            throw CancellationError()
        }
    }
}
