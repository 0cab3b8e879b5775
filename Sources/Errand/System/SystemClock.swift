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
        // A heap: none ends before the one at half its index. Those that were cancelled are still in it.
        private var sleeps: [Sleep] = []
        private var tasks: [Int: CheckedContinuation<Bool, Never>] = [:]
        private var lastNumber = 0
        /// When the timers end that run, the next one last: none is started that ends after another.
        private var timers: [ContinuousClock.Instant] = []

        var counts: (tasks: Int, sleeps: Int, timers: Int) { (tasks.count, sleeps.count, timers.count) }

        mutating func makeNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }

        /// Returns when a new timer must end.
        mutating func add(_ sleep: Sleep, _ task: CheckedContinuation<Bool, Never>) -> ContinuousClock.Instant? {
            tasks[sleep.number] = task
            append(sleep)
            return timerToStart()
        }

        mutating func remove(_ number: Int) -> CheckedContinuation<Bool, Never>? {
            let task = tasks.removeValue(forKey: number)
            if sleeps.count > 2 * tasks.count + 64 {
                let left = sleeps.filter { tasks[$0.number] != nil }
                sleeps = []
                left.forEach { append($0) }
            }
            return task
        }

        /// Returns those whose sleep is over, and when a new timer must end.
        mutating func removeEnded(at now: ContinuousClock.Instant)
            -> ([CheckedContinuation<Bool, Never>], ContinuousClock.Instant?)
        {
            while let next = timers.last, next <= now { timers.removeLast() }
            var ended: [CheckedContinuation<Bool, Never>] = []
            while let first = sleeps.first, first.end <= now || tasks[first.number] == nil {
                removeFirst()
                if let task = tasks.removeValue(forKey: first.number) { ended.append(task) }
            }
            return (ended, timerToStart())
        }

        private mutating func timerToStart() -> ContinuousClock.Instant? {
            guard let end = sleeps.first?.end, timers.last.map({ end < $0 }) != false else { return nil }
            timers.append(end)
            return end
        }

        private mutating func append(_ sleep: Sleep) {
            sleeps.append(sleep)
            var index = sleeps.count - 1
            while index > 0, sleeps[index].end < sleeps[(index - 1) / 2].end {
                sleeps.swapAt(index, (index - 1) / 2)
                index = (index - 1) / 2
            }
        }

        private mutating func removeFirst() {
            sleeps.swapAt(0, sleeps.count - 1)
            sleeps.removeLast()
            var index = 0
            while 2 * index + 1 < sleeps.count {
                var child = 2 * index + 1
                if child + 1 < sleeps.count, sleeps[child + 1].end < sleeps[child].end { child += 1 }
                guard sleeps[child].end < sleeps[index].end else { return }
                sleeps.swapAt(index, child)
                index = child
            }
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
        let number = state.withLock { $0.makeNumber() }
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
