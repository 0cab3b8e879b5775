import Dispatch
import Synchronization

/// The two deadlines of an exchange on the monotonic clock, watched by one timer: the whole, and the silence.
final class ExchangeDeadline: Sendable {
    /// A queue of its own has a thread even where all that tasks share are busy.
    private static let queue = DispatchQueue(label: "errand.deadlines")

    private let end: UInt64?
    private let idle: UInt64?
    private let lastActivity: Atomic<UInt64>
    private let state = Mutex(State())

    private struct State {
        var timer: (any DispatchSourceTimer)?
        var isStopped = false
    }

    /// Starts counting; `nil` is no deadline.
    init(total: Duration?, idle: Duration?) {
        let now = DispatchTime.now().uptimeNanoseconds
        end = total.map { now + UInt64($0.clampedNanoseconds) }
        self.idle = (idle?.clampedNanoseconds).map(UInt64.init)
        lastActivity = Atomic(now)
    }

    deinit { stop() }

    /// Calls `expired` at most once, on any thread, with the reason; to be called once.
    func start(_ expired: @escaping @Sendable (String) -> Void) {
        guard end != nil || idle != nil else { return }
        state.withLock { state in
            guard !state.isStopped else { return }
            let timer = DispatchSource.makeTimerSource(queue: Self.queue)
            timer.setEventHandler { [weak self] in self?.check(expired) }
            timer.schedule(deadline: nextCheck)
            timer.activate()
            state.timer = timer
        }
    }

    /// Ends the silence.
    func touch() {
        lastActivity.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
    }

    /// Stops watching.
    func stop() {
        state.take { exchange(&$0, with: State(isStopped: true)).timer }?.cancel()
    }

    private func check(_ expired: (String) -> Void) {
        let now = DispatchTime.now().uptimeNanoseconds
        if let end, now >= end { return expired("the deadline of the whole exchange passed") }
        if let idleEnd, now >= idleEnd { return expired("the connection was silent for too long") }
        state.withLock { $0.timer?.schedule(deadline: nextCheck) }
    }

    private var idleEnd: UInt64? {
        idle.map { lastActivity.load(ordering: .relaxed) + $0 }
    }

    /// Bytes that arrive move only the mark, not the timer; it looks at the mark when it fires.
    private var nextCheck: DispatchTime {
        DispatchTime(uptimeNanoseconds: min(end ?? .max, idleEnd ?? .max))
    }
}
