/// How many requests of a proxy may be under way at a time; those above queue.
///
/// A queued request sends nothing, can be cancelled like any other, and its `timeout` has not begun to run.
public struct RequestLimits: Sendable {
    /// The cap for one host and port; 64 by default.
    public var perHost: Int
    /// The cap for all of them; 256 by default.
    public var total: Int

    /// Creates limits, each at least 1.
    public init(perHost: Int = 64, total: Int = 256) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }
}
