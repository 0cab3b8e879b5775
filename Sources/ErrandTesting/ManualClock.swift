public import Errand
public import Foundation
import Synchronization

/// A clock that stands still until a test moves it: it drives deadlines, back-off, `Retry-After` and the age of cookies.
public final class ManualClock: APIClock {
    private typealias Sleeper = (end: Duration, waiter: CheckedContinuation<Bool, Never>)

    private struct State {
        var uptime = Duration.zero
        var lastSleeper = 0
        var sleepers: [Int: Sleeper] = [:]
    }

    private let start: Date
    private let sleeping = Tally()
    private let state = Mutex(State())

    /// Creates a clock that stands still.
    ///
    /// - Parameter date: What the clock shows first.
    public init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        start = date
    }

    /// How far the clock has been moved.
    public var uptime: Duration { state.withLock(\.uptime) }

    /// The first date, moved as far as the clock has been.
    public var date: Date { start.addingTimeInterval(uptime / .seconds(1)) }

    /// How many wait for the clock to move.
    public var sleepers: Int { sleeping.count }

    /// Waits until the clock has been moved by `duration`.
    ///
    /// - Throws: At once, when the task is cancelled.
    public func sleep(for duration: Duration) async throws(CancellationError) {
        let number = nextNumber()
        let hasSlept = await withCancellableContinuation(ifCancelled: false) { waiter in
            park(waiter, number, for: duration)
        } remove: {
            remove(number)
        }
        guard hasSlept else { throw CancellationError() }
    }

    /// Moves the clock, and wakes those whose time has come, the earliest first.
    ///
    /// What they do next has not happened when this returns.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.uptime += duration
            let due = state.sleepers.filter { $0.value.end <= state.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { ($0.value.end, $0.key) < ($1.value.end, $1.key) }
        }
        sleeping.add(-due.count)
        for (_, sleeper) in due { sleeper.waiter.resume(returning: true) }
    }

    /// Waits until at least `count` wait for the clock, so that moving it cannot come too early.
    public func waitForSleepers(_ count: Int = 1) async {
        await sleeping.reach(count)
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
    }

    /// Keeps a sleeper; `true` when there is nothing to wait for.
    private func park(_ waiter: CheckedContinuation<Bool, Never>, _ number: Int, for duration: Duration) -> Bool? {
        guard duration > .zero else { return !Task.isCancelled }
        state.withLock { $0.sleepers[number] = ($0.uptime + duration, waiter) }
        sleeping.add(1)
        return nil
    }

    /// Takes a sleeper who has been cancelled.
    private func remove(_ number: Int) -> CheckedContinuation<Bool, Never>? {
        guard let sleeper = state.withLock({ $0.sleepers.removeValue(forKey: number) }) else { return nil }
        sleeping.add(-1)
        return sleeper.waiter
    }
}
