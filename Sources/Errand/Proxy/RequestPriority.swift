/// The priority of a queued request.
///
/// Requests of the same priority to the same host are sent in the order in which their loads began.
public enum RequestPriority: Int, Sendable, CaseIterable, Comparable {
    /// After all others, such as a prefetch.
    case background
    /// The default.
    case normal
    /// Before all others, such as what a user waits for.
    case userInitiated

    /// Whether `lhs` is sent after `rhs`.
    public static func < (lhs: RequestPriority, rhs: RequestPriority) -> Bool { lhs.rawValue < rhs.rawValue }
}
