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
        let end = ContinuousClock.now + min(duration, Self.longestSleep)
        guard await SleepQueue.shared.sleep(until: end) else { throw CancellationError() }
    }
}

/// The tasks that sleep.
///
/// A `Task.sleep` that is cancelled leaves a timer and a task until its end: a program that sends a thousand loads a second with a
/// deadline of a minute would have sixty thousand of them.
final class SleepQueue: Sendable {
    private struct Sleep {
        let end: ContinuousClock.Instant
        let number: Int
    }

    private struct State {
        /// By their ends; those that were cancelled are still there.
        private var sleeps: [Sleep] = []
        private var tasks: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// When the timers end that run, the next one last: none is started that ends after another.
        private var timers: [ContinuousClock.Instant] = []

        var counts: (tasks: Int, sleeps: Int, timers: Int) { (tasks.count, sleeps.count, timers.count) }

        /// Returns when a new timer must end.
        mutating func add(_ sleep: Sleep, _ task: CheckedContinuation<Bool, Never>) -> ContinuousClock.Instant? {
            tasks[sleep.number] = task
            sleeps.insert(sleep, at: sleeps.index(behindAll: { $0.end <= sleep.end }))
            return timerToStart()
        }

        mutating func remove(_ number: Int) -> CheckedContinuation<Bool, Never>? {
            let task = tasks.removeValue(forKey: number)
            if sleeps.count > 2 * tasks.count + 64 { sleeps.removeAll { tasks[$0.number] == nil } }
            return task
        }

        /// Returns those whose sleep is over, and when a new timer must end.
        mutating func removeEnded(at now: ContinuousClock.Instant)
            -> ([CheckedContinuation<Bool, Never>], ContinuousClock.Instant?)
        {
            while let next = timers.last, next <= now { timers.removeLast() }
            let count = sleeps.firstIndex { $0.end > now && tasks[$0.number] != nil } ?? sleeps.count
            let ended = sleeps[..<count].compactMap { tasks.removeValue(forKey: $0.number) }
            sleeps.removeFirst(count)
            return (ended, timerToStart())
        }

        private mutating func timerToStart() -> ContinuousClock.Instant? {
            guard let end = sleeps.first?.end, timers.last.map({ end < $0 }) != false else { return nil }
            timers.append(end)
            return end
        }
    }

    static let shared = SleepQueue()

    private let state = Lock(State())

    /// The tasks that sleep, and the sleeps and timers that there are for them.
    var counts: (tasks: Int, sleeps: Int, timers: Int) { state.withLock(\.counts) }

    /// Returns `false` when the task is cancelled.
    func sleep(until end: ContinuousClock.Instant) async -> Bool {
        // A sleep of no length would end before the cancel is seen.
        guard !Task.isCancelled else { return false }
        let number = WaiterNumber.next()
        return await withCancellableContinuation(ifCancelled: false) { task in
            if let timer = state.withLock({ $0.add(Sleep(end: end, number: number), task) }) {
                startTimer(until: timer)
            }
            return nil
        } remove: {
            state.withLock { $0.remove(number) }
        }
    }

    private func startTimer(until end: ContinuousClock.Instant) {
        Task.detached(priority: .userInitiated) { [self] in
            try? await Task.sleep(until: end, clock: .continuous)
            let (ended, timer) = state.withLock { $0.removeEnded(at: .now) }
            for task in ended { task.resume(returning: true) }
            if let timer { startTimer(until: timer) }
        }
    }
}

extension RandomAccessCollection where Index == Int {
    /// Returns the index behind all elements that satisfy a condition, which are the first ones; with few calls of it.
    package func index(behindAll isFormer: (Element) -> Bool) -> Int {
        var (start, end) = (startIndex, endIndex)
        while start < end {
            let middle = (start + end) / 2
            if isFormer(self[middle]) { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
