/// Counts the relogins that refused loads need, of which too many in a short time are a loop.
struct LoginLimit {
    /// A relogin that has been counted.
    private struct Start {
        let uptime: Duration
        /// Whether the server may have granted or refused it.
        var hasReachedServer = true
    }

    /// How many relogins one load may need; more than one only if others have succeeded with the one before.
    static let maxOfLoad = 5
    /// More relogins than this within ``window`` are a loop.
    static let maxStarts = 5
    /// The time in which relogins are counted.
    static let window = Duration.seconds(30)

    private var recentStarts: [Start] = []

    /// Counts a relogin, unless there were too many recently.
    ///
    /// - Returns: Whether it may start.
    mutating func addStart(at uptime: Duration) -> Bool {
        recentStarts.removeAll { uptime - $0.uptime >= Self.window }
        guard recentStarts.count < Self.maxStarts else { return false }
        recentStarts.append(Start(uptime: uptime))
        return true
    }

    /// Records that the server has neither granted nor refused the newest relogin.
    mutating func newestDidNotReachServer() {
        if let newest = recentStarts.indices.last { recentStarts[newest].hasReachedServer = false }
    }

    /// Removes the relogins that did not reach the server, once a login has.
    mutating func removeUnreachedStarts() {
        recentStarts.removeAll { !$0.hasReachedServer }
    }
}
