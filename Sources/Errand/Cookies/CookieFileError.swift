public import Foundation

/// A problem with a jar's file; the cookies in memory are not affected.
public struct CookieFileError: Error, Sendable {
    /// The kinds of problem.
    public enum Kind: Sendable, Hashable {
        /// The file could not be read, or another user could have put it there; it was left unchanged.
        ///
        /// The jar does not write its file either, and tries again. Of a list of public suffixes, it uses the system's instead.
        case cannotRead
        /// The file was no cookie file, was damaged, or could be written by other users; it is kept under another name.
        ///
        /// The complete lines of a damaged file are in the jar.
        case setAside
        /// Another process held the lock for more than two seconds; the jar tries again.
        case locked
        /// The file could not be written; the old one is intact, or removed after ``CookieJar/removeAll()``, and the jar tries
        /// again.
        case cannotWrite
        /// The file format cannot express a cookie without a name or with a TAB; the cookie is kept in memory only.
        case notRepresentable
    }

    /// The kind of problem.
    public let kind: Kind
    /// The jar's file.
    public let file: URL
    /// What happened; free of cookie values.
    public let reason: String

    init(_ kind: Kind, file: URL, reason: String) {
        self.kind = kind
        self.file = file
        self.reason = reason
    }
}

extension CookieFileError: CustomStringConvertible {
    /// The kind, the reason and the path.
    public var description: String { "\(kind): \(reason) (\(file.path(percentEncoded: false)))" }
}

extension CookieFileError: Problem {}
