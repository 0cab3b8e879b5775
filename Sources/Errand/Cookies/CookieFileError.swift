public import Foundation

/// A problem with a jar's file; the cookies in memory are not affected.
public struct CookieFileError: Error, Sendable {
    /// The kinds of problem.
    public enum Kind: Sendable, Hashable {
        /// The file could not be read, or another user could have put it there; it was left unchanged.
        ///
        /// The jar does not write the file either, and tries again.
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

// MARK: Reporting

/// An object that uses jars and whose error hook is called for jars without one.
protocol CookieJarOwner: AnyObject, Sendable {
    var onError: (@Sendable (any Error) -> Void)? { get }
}

/// Reports the problems of a jar's file: each kind once, until it has been resolved and occurs again.
final class CookieFileErrorReporter: Sendable {
    private struct State {
        var current: Set<CookieFileError.Kind> = []
        var unreported: [CookieFileError] = []
        weak var owner: (any CookieJarOwner)?
    }

    private let state = Lock(State())
    private let hook: (@Sendable (CookieFileError) -> Void)?

    /// Without `hook`, the hook of the owner is called.
    init(hook: (@Sendable (CookieFileError) -> Void)?) {
        self.hook = hook
    }

    /// Keeps the owner that there is already; it is not retained.
    func attach(to owner: any CookieJarOwner) {
        // The present owner is returned from the lock: reading it retains it, and releasing it may deinitialize it.
        let (mustReport, _) = state.withLock { state in
            let present = state.owner
            if present == nil { state.owner = owner }
            return (!state.unreported.isEmpty, present)
        }
        if mustReport { report() }
    }

    /// Records the problems whose kind was not recorded since it was last resolved.
    func record(_ problems: [CookieFileError], resolved: Set<CookieFileError.Kind> = []) {
        state.withLock { state in
            state.current.subtract(resolved)
            let new = problems.filter { $0.kind == .setAside || state.current.insert($0.kind).inserted }
            state.unreported.removeAll { old in old.kind != .setAside && new.contains { $0.kind == old.kind } }
            state.unreported += new
        }
    }

    /// Without a hook, the problems stay unreported.
    func report() {
        let owner = state.withLock { $0.owner }
        guard let hook: @Sendable (CookieFileError) -> Void = hook ?? owner?.onError else { return }
        for problem in state.withLock({ Swift.exchange(&$0.unreported, with: []) }) { hook(problem) }
    }
}
