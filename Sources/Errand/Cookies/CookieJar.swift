import Dispatch
public import Foundation
import Synchronization

/// A cookie store that follows RFC 6265bis and, given a file, survives the process.
///
/// A jar is one account's cookies: give each service, or each account of one, its own jar and file. Use it from any
/// thread; no call but ``flush()`` and ``clear()`` waits for the disk.
///
/// Changes reach the file within a fraction of a second, at once with ``flush()`` and ``clear()``, and when the process
/// exits, though not when a signal ends it. The file is a Netscape `cookies.txt`, which curl and others read and write.
/// It is replaced as a whole and readable by its owner alone.
///
/// Several processes, and several jars of one, may share a file, also by paths of different spelling. Each save takes over
/// what others stored and removed: of each cookie, the newest update counts, not the last save. To that end the file
/// lists for a day which cookies were removed, without their values. A logout ends what was stored before it. The empty
/// `<name>.lock` beside the file is what processes take turns with.
///
/// A damaged file, a directory or a symbolic link in the file's place is kept as `<name>.corrupt-1` and so on, never
/// written to and never deleted; a damaged file only goes from its place when the cookies that were found in it are on
/// the disk.
///
/// Cookies are read from no file that another user can choose. The process' user or root must own the file and its
/// folder, otherwise the jar reads and writes nothing, reports ``CookieFileError/Kind/cannotRead`` and keeps its cookies
/// in memory; the same holds for a folder that other users may write, unless it is sticky like `/tmp`. A file that
/// other users may write is kept aside like a damaged one. The group that bears its user's name and has no other member
/// is no other user. For root, every user but root is another one: a tool that runs by `sudo` leaves the cookies of the
/// user alone whose home it sees, and root in a container needs a folder of its own below one that it was given. A
/// folder that is missing is made, for its owner alone.
///
/// ```swift
/// let jar = CookieJar(file: CookieJar.defaultFile(named: "shop"))
/// jar.store(setCookie: "sid=31d4; Path=/; Secure", from: url)
/// request.headers["Cookie"] = jar.header(for: url)
/// ```
public final class CookieJar: Sendable {
    /// What became of a `Set-Cookie`.
    public enum Outcome: Sendable, Equatable {
        /// The cookie is in the jar.
        case stored(Cookie)
        /// The cookie is not in the jar: its end has passed, or the jar is full of more useful ones.
        case removed
        /// Nothing was changed.
        case refused(CookieRefusal)
    }

    /// The time between two calls of ``CookieJar/clear()``; see ``CookieJar/generation``.
    public struct Generation: Sendable, Hashable {
        private var number = 0

        var next: Generation { Generation(number: number + 1) }
    }

    /// What happens to session cookies when the process ends.
    public enum SessionCookies: Sendable {
        /// They stay in the file, which keeps a user signed in.
        case keep
        /// They are neither written to the file nor read from it.
        case drop
    }

    let state: Mutex<CookieJarState>
    let file: CookieFile?
    let sessionCookies: SessionCookies
    let capacity: Int
    let saving = DispatchQueue(label: "errand.cookies", qos: .utility)
    let onError: (@Sendable (CookieFileError) -> Void)?
    let opened: Date
    let suffixes: PublicSuffixRules
    private let trustworthyLoopback: Bool

    /// Opens the jar that is kept in `file`, and reads it.
    ///
    /// - Parameters:
    ///   - file: The file URL of a `cookies.txt`; `nil`, the default, keeps the cookies in memory alone.
    ///   - sessionCookies: What happens to cookies without a date; they are kept by default.
    ///   - capacity: How many cookies the jar holds in all, 1 to 1,000,000 and 3,300 by default; above it, those go that
    ///     were unused for longest, of hosts with many first. One domain holds 180. Jars that share a file have the same
    ///     capacity.
    ///   - publicSuffixList: A list in the format of publicsuffix.org; by default the system's, see
    ///     ``publicSuffixSource``.
    ///   - trustworthyLoopback: Whether `http` to `localhost`, `*.localhost`, `127.0.0.0/8` and `::1` is as good as
    ///     `https` for `Secure` cookies, as browsers have it; `false` by default.
    ///   - date: The present, by which the file's cookies are expired or not.
    ///   - onError: Called once with each kind of problem with the file, until it has ended and comes again: before
    ///     `init`, `flush()` or `clear()` returns, or on a thread of the jar. Without it, ``APIProxy/onError`` is.
    public init(
        file: URL? = nil,
        sessionCookies: SessionCookies = .keep,
        capacity: Int = 3_300,
        publicSuffixList: URL? = nil,
        trustworthyLoopback: Bool = false,
        at date: Date = .now,
        onError: (@Sendable (CookieFileError) -> Void)? = nil
    ) {
        let capacity = min(max(1, capacity), 1_000_000)
        suffixes = PublicSuffixRules(file: publicSuffixList)
        state = Mutex(CookieJarState(hasFile: file != nil, capacity: capacity, suffixes: suffixes))
        self.file = file.map { CookieFile($0, capacity: capacity) }
        self.sessionCookies = sessionCookies
        self.capacity = capacity
        self.trustworthyLoopback = trustworthyLoopback
        self.onError = onError
        opened = date
        load()
    }

    /// Where the public suffixes come from that this jar goes by.
    public var publicSuffixSource: PublicSuffixSource { suffixes.source }

    /// The jar's present generation.
    ///
    /// Take it before a request is sent and give it to `store` with the answer: when the jar was cleared in between,
    /// the answer's cookies are those of a session that has ended, and are refused.
    public var generation: Generation { state.withLock(\.generation) }

    /// Every cookie, the oldest first, expired ones not yet removed included.
    public var cookies: [Cookie] { state.withLock(\.store.cookies) }

    /// Stores what one `Set-Cookie` line asks for.
    ///
    /// - Parameters:
    ///   - setCookie: The line's value, as UTF-8.
    ///   - url: The URL that answered.
    ///   - generation: The ``generation`` when the request was sent; `nil`, the default, stores in any case.
    ///   - date: When the answer arrived.
    /// - Returns: What became of it.
    @discardableResult
    public func store(
        setCookie: String,
        from url: URL,
        generation: Generation? = nil,
        at date: Date = .now
    ) -> Outcome {
        store(setCookie: Array(setCookie.utf8), from: url, generation: generation, at: date)
    }

    /// Stores what one `Set-Cookie` line asks for, of which no byte is lost.
    ///
    /// - Parameters:
    ///   - bytes: The line's value as it stood on the wire.
    ///   - url: The URL that answered.
    ///   - generation: The ``generation`` when the request was sent; `nil`, the default, stores in any case.
    ///   - date: When the answer arrived.
    /// - Returns: What became of it.
    @discardableResult
    public func store(
        setCookie bytes: some Collection<UInt8>,
        from url: URL,
        generation: Generation? = nil,
        at date: Date = .now
    ) -> Outcome {
        guard let origin = CookieOrigin(url, trustingLoopback: trustworthyLoopback) else {
            return .refused(.unsupportedURL)
        }
        do {
            let line = try SetCookie(parsing: Array(bytes))
            let cookie = try Cookie(line, from: origin, suffixes: suffixes, at: date)
            return change { $0.keep(cookie, isSecure: origin.isSecure, sentIn: generation, at: date) }
        } catch {
            return .refused(error)
        }
    }

    /// The value of the `Cookie` header for a request; `nil` when no cookie goes there.
    ///
    /// At most 8 KB; cookies that do not fit are left out. Bytes that are not UTF-8 are replaced.
    public func header(for url: URL, at date: Date = .now) -> String? {
        CookieHeader.value(cookies(for: url, at: date)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The cookies that go to `url`, in the order of the header (RFC 6265bis section 5.8.3).
    public func cookies(for url: URL, at date: Date = .now) -> [Cookie] {
        guard let origin = CookieOrigin(url, trustingLoopback: trustworthyLoopback) else { return [] }
        return state.withLock { $0.cookies(for: origin, at: date) }
    }

    /// Removes the cookies that `isUnwanted` names, except those that change while it decides.
    public func remove(where isUnwanted: (Cookie) -> Bool) {
        let unwanted = cookies.filter(isUnwanted)
        change { $0.remove(unwanted, at: .now) }
    }

    /// Removes every cookie, in the file too, and starts a new ``generation``.
    ///
    /// Other jars of this process that share the file are emptied as well. Returns when the disk has it, so that a
    /// logout survives whatever happens next, and blocks as ``flush()`` does. What prevents it goes to the error hook, and
    /// the jar goes on trying.
    public func clear() {
        empty()
        try? flush()
    }

    /// The part of ``clear()`` that does not wait for the disk.
    func empty() {
        let logout = state.withLock { $0.clear(at: .now) }
        for jar in LiveJars.others(than: self) { jar.state.withLock { $0.forget(upTo: logout) } }
    }

    /// Changes the state, and schedules a save when the file has to learn of it.
    func change<Result: Sendable>(_ body: (inout CookieJarState) -> Result) -> Result {
        let (result, needsSave) = state.withLock { (body(&$0), $0.beginsSchedule()) }
        if needsSave { scheduleSave() }
        return result
    }
}
