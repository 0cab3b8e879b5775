import Dispatch
import Foundation

/// When an exchange began, by both clocks.
struct ExchangeClock: Sendable {
    let date = Date()
    let instant = MonotonicClock.now

    func timings(until end: MonotonicClock.Instant = MonotonicClock.now) -> ExchangeTimings {
        ExchangeTimings(startedAt: date, total: .nanoseconds(max(0, end - instant)))
    }
}

extension Duration {
    /// Limited to 0 through a hundred years so that adding them to an instant cannot overflow.
    package var clampedNanoseconds: Int64 {
        let limit = Duration.seconds(100 * 365 * 86_400 as Int64)
        let (seconds, attoseconds) = Swift.min(Swift.max(self, .zero), limit).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The two time limits of an exchange: its deadline, and its timeout, which each transferred byte restarts.
package struct ExchangeDeadlines {
    /// The longest time, in nanoseconds, for the body of a redirect that is followed.
    static let ofRedirect: Int64 = 500_000_000

    private var deadline: MonotonicClock.Instant
    private var timeout: Int64?
    private var lastActivity: MonotonicClock.Instant
    private var isTimeoutPaused = false

    /// `nil` is no limit.
    init(deadline: Duration?, timeout: Duration?, at now: MonotonicClock.Instant = MonotonicClock.now) {
        self.deadline = deadline.map { now + $0.clampedNanoseconds } ?? .max
        self.timeout = timeout?.clampedNanoseconds
        lastActivity = now
    }

    package init(_ request: HTTPRequest, at now: MonotonicClock.Instant = MonotonicClock.now) {
        self.init(deadline: request.deadline, timeout: request.timeout, at: now)
    }

    /// `.max` without limits.
    package var next: MonotonicClock.Instant {
        min(deadline, isTimeoutPaused ? .max : timeout.map { lastActivity + $0 } ?? .max)
    }

    /// When to look next, by who does not learn that the timeout is resumed; it is not exceeded before.
    package func nextCheck(after now: MonotonicClock.Instant) -> MonotonicClock.Instant {
        isTimeoutPaused ? min(deadline, timeout.map { now + $0 } ?? .max) : next
    }

    /// `nil` when no limit is exceeded.
    package func error(at now: MonotonicClock.Instant) -> TransportError? {
        guard now >= next else { return nil }
        let reason =
            now >= deadline ? "the deadline of the whole exchange passed" : "the connection was silent for too long"
        return TransportError(.timeout, reason)
    }

    /// In nanoseconds; 0 while the timeout is paused.
    func silence(at now: MonotonicClock.Instant) -> Int64 { isTimeoutPaused ? 0 : now - lastActivity }

    /// Called for each transferred byte.
    package mutating func restartTimeout(at now: MonotonicClock.Instant) {
        lastActivity = now
    }

    /// Until ``resumeTimeout(at:)``: what waits for the app is no silence of the server.
    package mutating func pauseTimeout() { isTimeoutPaused = true }

    package mutating func resumeTimeout(at now: MonotonicClock.Instant) {
        guard isTimeoutPaused else { return }
        (isTimeoutPaused, lastActivity) = (false, now)
    }

    /// Does nothing if the timeout was restarted later.
    mutating func moveTimeout(to activity: MonotonicClock.Instant) { lastActivity = max(lastActivity, activity) }

    /// Does nothing unless the timeout was last restarted at `start`.
    mutating func moveTimeout(from start: MonotonicClock.Instant, to end: MonotonicClock.Instant) {
        if lastActivity == start { lastActivity = end }
    }

    /// In nanoseconds; restarts the timeout.
    mutating func limitTimeout(to limit: Int64) {
        timeout = min(timeout ?? limit, limit)
        lastActivity = MonotonicClock.now
    }

    /// In nanoseconds from now on.
    mutating func limitDeadline(to limit: Int64) { deadline = min(deadline, MonotonicClock.now + limit) }
}

/// Observes the deadlines of one exchange with a timer of Dispatch.
final class ExchangeTimer: Sendable {
    /// A separate queue gets a thread even when all threads of the concurrency pool are busy.
    private static let queue = DispatchQueue(label: "errand.deadlines")

    private let state: Lock<State>

    private struct State {
        var deadlines: ExchangeDeadlines
        var timer: (any DispatchSourceTimer)?
        var isStopped = false
    }

    /// Observes nothing before ``start(_:)``.
    init(_ deadlines: ExchangeDeadlines) {
        state = Lock(State(deadlines: deadlines))
    }

    deinit { stop() }

    /// Called at most once; so is `expired`, on any thread.
    func start(_ expired: @escaping @Sendable (TransportError) -> Void) {
        state.withLock { state in
            guard !state.isStopped, state.deadlines.next != .max else { return }
            let timer = DispatchSource.makeTimerSource(queue: Self.queue)
            timer.setEventHandler { [weak self] in self?.check(expired) }
            timer.schedule(deadline: state.deadlines.dispatchTime)
            timer.activate()
            state.timer = timer
        }
    }

    /// The timer itself is not moved: when it fires, it is scheduled for the new instant.
    func restartTimeout() {
        state.withLock { $0.deadlines.restartTimeout(at: MonotonicClock.now) }
    }

    /// In nanoseconds from now on.
    func limitDeadline(to limit: Int64) {
        state.withLock { state in
            state.deadlines.limitDeadline(to: limit)
            state.timer?.schedule(deadline: state.deadlines.dispatchTime)
        }
    }

    func pauseTimeout() { state.withLock { $0.deadlines.pauseTimeout() } }

    func resumeTimeout() {
        state.withLock { state in
            state.deadlines.resumeTimeout(at: MonotonicClock.now)
            state.timer?.schedule(deadline: state.deadlines.dispatchTime)
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            defer { state.timer = nil }
            return state.timer
        }?.cancel()
    }

    private func check(_ expired: (TransportError) -> Void) {
        let error = state.withLock { state in
            let error = state.deadlines.error(at: MonotonicClock.now)
            if error == nil { state.timer?.schedule(deadline: state.deadlines.dispatchTime) }
            return error
        }
        if let error { expired(error) }
    }
}

extension ExchangeDeadlines {
    fileprivate var dispatchTime: DispatchTime { DispatchTime(uptimeNanoseconds: UInt64(next)) }
}
