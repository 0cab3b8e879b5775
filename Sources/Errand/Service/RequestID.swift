import Synchronization

/// The identifier of one load: unique for the life of the process, never reused, never 0.
public struct RequestID: Hashable, Sendable {
    /// The number; a later load has a greater one.
    package let rawValue: UInt64

    private static let last = Atomic<UInt64>(0)
    private static let lastChange = Atomic<UInt64>(0)

    static var newest: RequestID { RequestID(rawValue: last.load(ordering: .relaxed)) }
    /// When a session last ended, or all loads of a proxy were cancelled.
    static var newestChange: RequestID { RequestID(rawValue: lastChange.load(ordering: .acquiring)) }
    static func ofChange() -> RequestID {
        let id = next()
        lastChange.store(id.rawValue, ordering: .releasing)
        return id
    }
    package static func next() -> RequestID {
        RequestID(rawValue: last.add(1, ordering: .relaxed).newValue)
    }
}

extension RequestID: Comparable, CustomStringConvertible {
    /// Returns whether `lhs` was created before `rhs`.
    public static func < (lhs: RequestID, rhs: RequestID) -> Bool { lhs.rawValue < rhs.rawValue }
    /// The number.
    public var description: String { "\(rawValue)" }
}
