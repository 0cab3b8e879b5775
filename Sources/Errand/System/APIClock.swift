public import Foundation

/// The time in which a proxy waits and by which it judges: deadlines, back-off, `Retry-After` and the age of cookies.
///
/// Apps use ``SystemClock``; a test uses another one, such as `ManualClock` of ErrandTesting.
public protocol APIClock: Sendable {
    /// The time since some fixed moment; it never decreases, whatever happens to the date.
    var uptime: Duration { get }

    /// The date of now.
    var date: Date { get }

    /// Waits until `duration` has passed.
    ///
    /// - Throws: At once, when the task is cancelled.
    func sleep(for duration: Duration) async throws(CancellationError)
}

/// The clock of the machine.
public struct SystemClock: APIClock {
    private static let start = ContinuousClock.now
    // A century; the runtime cannot count to the end of a wait of `Int64.max` seconds.
    private static let longestSleep = Duration.seconds(36_525 * 86_400)

    /// Creates the clock; all of them show the same time.
    public init() {}

    /// The time since the clock was first asked, that of a sleeping machine included.
    public var uptime: Duration { Self.start.duration(to: .now) }

    /// The date of now.
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
