#if os(Linux)
/// What the exchanges of a loop use of it: the time of its turn, its next deadline, and the work for its next turn.
///
/// Used only on the loop's thread.
final class CurlTurn {
    /// The duration of a turn, in nanoseconds, from which its bytes count from its end instead of its start: code of the app
    /// or a disk may delay it for longer than a timeout.
    private static let longDuration: Int64 = 10_000_000

    let activity: CurlActivity
    private(set) var number = 0
    private(set) var start = MonotonicClock.now
    /// `.max` for never.
    var alarm = MonotonicClock.Instant.max
    private var end: MonotonicClock.Instant = 0
    private var postponed: [CurlExchange] = []

    init(_ activity: CurlActivity) {
        self.activity = activity
    }

    func begin() {
        activity.beginTurn()
        number += 1
        start = MonotonicClock.now
    }

    /// Returns the end of a turn that was long.
    func finish() -> MonotonicClock.Instant? {
        activity.endTurn()
        end = MonotonicClock.now
        return end - start > Self.longDuration ? end : nil
    }

    /// Does nothing if the alarm is earlier.
    func setAlarm(_ instant: MonotonicClock.Instant) {
        alarm = min(alarm, instant)
    }

    /// In milliseconds, until the alarm, rounded up, but at most a minute; `nil` when there is postponed work.
    var pause: Int32? {
        guard postponed.isEmpty else { return nil }
        return Int32((max(0, min(alarm - end, 60_000_000_000)) + 999_999) / 1_000_000)
    }

    /// In each turn, an exchange decodes a limited amount, so that the other exchanges, deadlines and cancellations are processed
    /// in time.
    func postpone(_ exchange: CurlExchange) {
        guard !exchange.isPostponed else { return }
        exchange.isPostponed = true
        postponed.append(exchange)
    }

    func takePostponed() -> [CurlExchange] {
        defer { postponed = [] }
        for exchange in postponed { exchange.isPostponed = false }
        return postponed
    }
}

/// What a loop knows of one host.
final class CurlHost {
    /// `nil` before the first response.
    var isMultiplexed: Bool?
    /// Whether it has ever had one.
    var hasConnectionOfHTTP1_0 = false
    /// When another exchange may stop waiting for a connection that an earlier one opens.
    var nextConnection: MonotonicClock.Instant = 0
}
#endif
