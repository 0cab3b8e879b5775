/// How many requests of a proxy may be on the wire at a time; the others queue.
///
/// The transport's ``TransportCapacity`` applies as well. A queued request sends nothing and can be cancelled like any other. Its
/// `timeout` does not run, and its `deadline` not before its first turn.
public struct QueueLimits: Sendable {
    /// The limit for one host and port; 64 by default.
    public var perHost: Int
    /// The limit for all hosts together; 256 by default.
    public var total: Int

    /// Creates limits, each at least 1.
    public init(perHost: Int = 64, total: Int = 256) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }
}
