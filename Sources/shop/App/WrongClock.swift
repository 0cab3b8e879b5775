import Errand
import Foundation

/// The clock of a device whose date is wrong.
struct WrongClock: APIClock {
    private let clock = SystemClock()
    /// How far the date is from the right one, in seconds.
    let error: TimeInterval

    var uptime: Duration { clock.uptime }
    var date: Date { clock.date.addingTimeInterval(error) }

    func sleep(for duration: Duration) async throws(CancellationError) { try await clock.sleep(for: duration) }
}
