/// Who goes first when requests have to queue.
public enum RequestPriority: Int, Sendable, CaseIterable, Comparable {
    /// Nobody waits for it: goes when nothing else wants to.
    case background
    /// The default.
    case normal
    /// Somebody looks at a spinner: goes before all others.
    case userInitiated

    /// Whether `lhs` lets `rhs` go first.
    public static func < (lhs: RequestPriority, rhs: RequestPriority) -> Bool { lhs.rawValue < rhs.rawValue }
}

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
