#if os(Linux)
/// The deadlines of one exchange, and the alarm of its loop.
struct CurlDeadlines {
    /// The timeout, in nanoseconds, of an upload whose complete answer has been received before the body was sent.
    private static let earlyAnswerTimeout: Int64 = 500_000_000

    private var deadlines: ExchangeDeadlines
    private var alarm: CurlAlarm?
    /// Whether the answer was complete before the request.
    private(set) var hasEarlyAnswer = false

    /// Starts the limits of `request` now.
    init(_ request: HTTPRequest) {
        deadlines = ExchangeDeadlines(request)
    }

    /// The next instant at which a deadline can pass.
    var next: MonotonicClock.Instant { deadlines.next }

    /// The start of the loop's turn; 0 before ``begin(with:)``.
    var now: MonotonicClock.Instant { alarm?.now ?? 0 }

    /// Sets the alarm of the loop, which has started the exchange.
    mutating func begin(with alarm: CurlAlarm) {
        self.alarm = alarm
        // What it waited for the loop was no silence of a server.
        deadlines.restartTimeout(at: alarm.now)
        alarm.set(next)
    }

    /// Restarts the timeout; called for each transferred byte.
    mutating func restartTimeout() {
        guard let alarm else { return }
        alarm.activity.receiveCall()
        deadlines.restartTimeout(at: alarm.now)
    }

    /// Restarts the timeout at the end of the loop's turn if a byte was transferred in it.
    mutating func endTurn(at end: MonotonicClock.Instant) {
        deadlines.moveTimeout(from: now, to: end)
    }

    /// Limits the timeout of an upload whose answer is complete: libcurl 7.88 waits forever for an HTTP/2 server that has answered
    /// and does not receive the rest of the body.
    mutating func limitUpload() {
        guard !hasEarlyAnswer else { return }
        hasEarlyAnswer = true
        deadlines.limitTimeout(to: Self.earlyAnswerTimeout)
        alarm?.set(next)
    }

    /// Returns the error of the limit that is exceeded at `now`; `nil` when none is.
    func error(at now: MonotonicClock.Instant) -> TransportError? { deadlines.error(at: now) }
}
#endif
