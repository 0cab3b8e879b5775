/// A problem with the folder of an ``APICache``; no load fails because of it.
public struct APICacheError: Error, Sendable {
    /// The kinds of problem.
    public enum Kind: Sendable, Hashable {
        /// A stored response was damaged, or of another version of the format; it was removed.
        case unreadable
        /// A response could not be stored, for example because the disk is full.
        case cannotWrite
        /// The folder cannot be used; nothing is stored or read.
        case unusableFolder
    }

    /// The kind of problem.
    public let kind: Kind
    /// What happened; without the contents of responses.
    public let reason: String

    init(_ kind: Kind, reason: String) {
        (self.kind, self.reason) = (kind, reason)
    }
}

extension APICacheError: CustomStringConvertible {
    /// The kind and the reason.
    public var description: String { "\(kind): \(reason)" }
}
