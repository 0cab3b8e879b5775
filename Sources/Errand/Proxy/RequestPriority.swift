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
