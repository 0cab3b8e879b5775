#if os(Linux)
/// When an exchange has to end: at its deadline, or after a silence.
struct CurlDeadlines {
    private let whole: CurlClock.Instant
    private var silence: CurlClock.Instant?
    private var lastMove: CurlClock.Instant?

    /// Starts counting the whole exchange; the silence counts from ``begin()``.
    init(_ request: HTTPRequest) {
        whole = request.deadline.map { CurlClock.now + $0.clampedNanoseconds } ?? .max
        silence = request.timeout?.clampedNanoseconds
    }

    /// The next instant at which the exchange may have to end.
    var next: CurlClock.Instant {
        guard let silence, let lastMove else { return whole }
        return min(whole, lastMove + silence)
    }

    /// Why the exchange has to end at `now`.
    func error(at now: CurlClock.Instant) -> TransportError {
        let reason =
            now >= whole ? "the deadline of the whole exchange passed" : "the connection was silent for too long"
        return TransportError(.timeout, reason)
    }

    /// Hears that the exchange has left its queue.
    mutating func begin() {
        lastMove = CurlClock.now
    }

    /// Hears of a byte in either direction.
    mutating func move() {
        guard silence != nil else { return }
        lastMove = CurlClock.now
    }

    /// Allows no longer silence than `limit` from now on.
    mutating func limitSilence(_ limit: CurlClock.Instant) {
        silence = min(silence ?? limit, limit)
        lastMove = CurlClock.now
    }
}

/// The next instant at which a loop has to look at its deadlines; it stays on the loop's thread.
final class CurlAlarm {
    private(set) var next = CurlClock.Instant.max

    /// Rings at `instant`, if not before.
    func set(_ instant: CurlClock.Instant) {
        next = min(next, instant)
    }

    /// Forgets what was set.
    func clear() {
        next = .max
    }
}
#endif
