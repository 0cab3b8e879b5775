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
        var watchers: [Int: (count: Int, waiter: CheckedContinuation<Bool, Never>)] = [:]
    }

    private let start: Date
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
    public var sleepers: Int { state.withLock(\.sleepers.count) }

    /// Waits until the clock has been moved by `duration`.
    ///
    /// - Throws: At once, when the task is cancelled.
    public func sleep(for duration: Duration) async throws(CancellationError) {
        let number = nextNumber()
        let hasSlept = await suspended(ifCancelled: false) { waiter in
            park(waiter, number, for: duration)
        } unpark: {
            state.withLock { $0.sleepers.removeValue(forKey: number)?.waiter }
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
        for (_, sleeper) in due { sleeper.waiter.resume(returning: true) }
    }

    /// Waits until at least `count` wait for the clock, so that moving it cannot come too early.
    public func waitForSleepers(_ count: Int = 1) async {
        let number = nextNumber()
        _ = await suspended(ifCancelled: false) { waiter in
            state.withLock { state in
                guard state.sleepers.count < count else { return true }
                state.watchers[number] = (count, waiter)
                return nil
            }
        } unpark: {
            state.withLock { $0.watchers.removeValue(forKey: number)?.waiter }
        }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
    }

    /// Keeps a sleeper and tells those who have waited for it; `true` when there is nothing to wait for.
    private func park(_ waiter: CheckedContinuation<Bool, Never>, _ number: Int, for duration: Duration) -> Bool? {
        guard duration > .zero else { return true }
        let satisfied = state.withLock { state in
            state.sleepers[number] = (state.uptime + duration, waiter)
            let satisfied = state.watchers.filter { $0.value.count <= state.sleepers.count }
            for watcher in satisfied.keys { state.watchers[watcher] = nil }
            return satisfied.values
        }
        for watcher in satisfied { watcher.waiter.resume(returning: true) }
        return nil
    }
}
