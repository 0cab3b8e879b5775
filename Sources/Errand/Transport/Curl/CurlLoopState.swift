#if os(Linux)
/// The work that other threads have submitted to a loop.
struct CurlInbox {
    var submitted: [CurlExchange] = []
    var cancelled: [CurlExchange] = []
    /// Those with new bytes to send.
    var readable: [CurlExchange] = []
    var isStopping = false
    var isLoopAsleep = false

    var isEmpty: Bool { submitted.isEmpty && cancelled.isEmpty && readable.isEmpty && !isStopping }
}

/// The hosts to which a loop has connected, by origin; used only on the loop's thread.
struct CurlHosts {
    private static let limit = 1_000
    private var hosts: [String: CurlHost] = [:]

    /// The host of an origin.
    subscript(origin: String) -> CurlHost {
        mutating get {
            if let host = hosts[origin] { return host }
            // Removed information is restored by the next answer of the host.
            if hosts.count >= Self.limit { hosts = [:] }
            let host = CurlHost()
            hosts[origin] = host
            return host
        }
    }
}

/// The state of one host in a loop.
final class CurlHost {
    /// Whether the host's last answer was sent over HTTP/2.
    var isMultiplexed = false
    /// The earliest time at which another exchange may stop waiting for a connection that an earlier one opens.
    var nextConnection: MonotonicClock.Instant = 0
}

/// The clock of a loop, and the next instant at which it has to check its deadlines; used only on the loop's thread.
final class CurlAlarm {
    /// What the watchdog knows of the loop.
    let activity: CurlActivity
    /// When the current turn of the loop started, for what happens in it.
    private(set) var now = MonotonicClock.now
    private(set) var next = MonotonicClock.Instant.max
    private var turnEnd: MonotonicClock.Instant = 0
    /// The duration of a turn, in nanoseconds, from which its bytes count from its end instead of its start: code of the app
    /// or a disk may delay it for longer than a timeout.
    static let longTurn: Int64 = 10_000_000

    init(_ activity: CurlActivity) {
        self.activity = activity
    }

    /// Starts a turn.
    func beginTurn() {
        activity.beginTurn()
        now = MonotonicClock.now
    }

    /// Ends the turn; returns the current instant.
    func endTurn() -> MonotonicClock.Instant {
        activity.endTurn()
        turnEnd = MonotonicClock.now
        return turnEnd
    }

    /// Moves the alarm to `instant` if that is earlier.
    func set(_ instant: MonotonicClock.Instant) {
        next = min(next, instant)
    }

    /// How many milliseconds after the end of the turn the alarm is, rounded up; a minute at most.
    var wait: Int32 { Int32((max(0, min(next - turnEnd, 60_000_000_000)) + 999_999) / 1_000_000) }

    /// Removes the alarm.
    func clear() {
        next = .max
    }
}

/// How much one exchange may decode in the current turn of its loop.
struct CurlBudget {
    var decoding = DecodingBudget()
    private var turn = 0

    /// Renews the budget if another turn has started.
    mutating func renew(in turn: Int) {
        guard turn != self.turn else { return }
        (decoding, self.turn) = (DecodingBudget(), turn)
    }
}

/// The exchanges whose received bytes are not all decoded; used only on the loop's thread.
///
/// In each turn of the loop, an exchange decodes a limited amount, so that the other exchanges, deadlines and cancellations
/// are processed in time.
final class CurlBacklog {
    /// How many turns the loop has started.
    private(set) var turn = 0
    private var exchanges: [CurlExchange] = []

    /// Whether there are no such exchanges.
    var isEmpty: Bool { exchanges.isEmpty }

    /// Adds an exchange, whose transfer is paused until the next turn.
    func add(_ exchange: CurlExchange) {
        exchanges.append(exchange)
    }

    /// Starts a turn; removes and returns the exchanges that continue in it.
    func beginTurn() -> [CurlExchange] {
        turn += 1
        defer { exchanges = [] }
        return exchanges
    }
}
#endif
