public import Foundation

/// A problem with a jar's file; the cookies in memory go on whatever it is.
public struct CookieFileError: Error, Sendable {
    /// The kinds of problem.
    public enum Kind: Sendable, Hashable {
        /// The file could not be read, or another user could have put it there; it was left as it is.
        ///
        /// The jar does not write it either, and tries again.
        case cannotRead
        /// What was in the file's place is no cookie file, a damaged one, or one that other users may write; it is kept
        /// under another name.
        ///
        /// The whole lines of a damaged file are in the jar.
        case setAside
        /// Another process held the lock for too long; the jar tries again.
        case locked
        /// The file could not be written; the old one is intact, and the jar tries again.
        case cannotWrite
        /// A cookie cannot stand in the file, having no name or a TAB in it; it lives in memory.
        case notRepresentable
    }

    /// What kind of problem it is.
    public let kind: Kind
    /// The jar's file.
    public let file: URL
    /// What happened; free of cookie values.
    public let reason: String

    init(_ kind: Kind, _ file: URL, _ reason: String) {
        self.kind = kind
        self.file = file
        self.reason = reason
    }
}

extension CookieFileError: CustomStringConvertible {
    /// The kind, the reason and the path.
    public var description: String { "\(kind): \(reason) (\(file.path(percentEncoded: false)))" }
}
