public import Errand
public import Foundation

/// A clock that only a test advances: it drives deadlines, back-off, `Retry-After` and the age of cookies.
public final class ManualClock: APIClock {
    private typealias Sleeper = (end: Duration, waiter: CheckedContinuation<Bool, Never>)

    private struct State {
        var uptime = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
    }

    private let start: Date
    private let sleeping = WaitableCounter()
    private let state = Lock(State())

    /// Creates a clock.
    ///
    /// - Parameter date: The clock's first date; 1,700,000,000 seconds after 1970 by default.
    public init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        start = date
    }

    /// How far the clock has been advanced.
    public var uptime: Duration { state.withLock(\.uptime) }

    /// The first date plus ``uptime``.
    public var date: Date { start.addingTimeInterval(uptime / .seconds(1)) }

    /// The number of tasks that wait for the clock.
    public var sleepers: Int { sleeping.count }

    /// Waits until the clock has been advanced by `duration`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws(CancellationError) {
        let number = WaiterNumber.next()
        let hasSlept = await withCancellableContinuation(ifCancelled: false) { waiter in
            guard duration > .zero else { return !Task.isCancelled }
            state.withLock { $0.sleepers[number] = ($0.uptime + duration, waiter) }
            sleeping.add(1)
            return nil
        } remove: {
            guard let sleeper = state.withLock({ $0.sleepers.removeValue(forKey: number) }) else { return nil }
            sleeping.add(-1)
            return sleeper.waiter
        }
        guard hasSlept else { throw CancellationError() }
    }

    /// Advances the clock and resumes the tasks whose wait has ended, the earliest first.
    ///
    /// May return before the resumed tasks run, in any order: to have one of two moments first, such as the response of a script
    /// before a timeout, advance to each of them. A negative duration is a programming error: a clock never goes back.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a clock never goes back")
        let due = state.withLock { state in
            state.uptime += duration
            let due = state.sleepers.filter { $0.value.end <= state.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { ($0.value.end, $0.key) < ($1.value.end, $1.key) }
        }
        sleeping.add(-due.count)
        for (_, sleeper) in due { sleeper.waiter.resume(returning: true) }
    }

    /// Waits until at least `count` tasks wait for the clock, so that the clock is not advanced too early.
    ///
    /// Returns at once when the calling task is cancelled.
    public func waitForSleepers(_ count: Int = 1) async {
        await sleeping.reach(count)
    }
}
