public import Foundation

/// A cookie store that follows RFC 6265bis and, with a file, outlives the process.
///
/// A jar contains one account's cookies: give each service, or each account of a service, a separate jar and file. All
/// methods may be called on any thread; only the initializer, ``flush()`` and ``clear()`` wait for the disk.
///
/// Changes are saved within a fraction of a second, at once by ``flush()`` and ``clear()``, and when the process exits,
/// though not when a signal ends it. The file is a Netscape `cookies.txt`, which curl and others read and write. It is
/// replaced as a whole, and only its owner may read it.
///
/// Several processes, and several jars of one process, may share a file, also by differently spelled paths. A save applies
/// what this jar has stored and removed to the file, and takes over what others have. Of one cookie that two jars change
/// before either has saved, the last save counts. A logout ends everything that was stored before it, also what another
/// process saves later. Processes lock the empty file `<name>.lock` next to it to take turns.
///
/// What another process has saved, a login or a logout as well, is sent by the first load that begins a second or more after
/// the last look at the file, and so by every load that begins a second after it was saved. The methods of a jar do not look.
///
/// A damaged file, a directory or a symbolic link at the file's path is kept as `<name>.corrupt-1` and so on, never written
/// to and never deleted. A damaged file is replaced only when the cookies that were found in it are on the disk.
///
/// A jar reads no file whose contents another user can choose. The process' user or root must own the file and its folder,
/// otherwise the jar reads and writes nothing, reports ``CookieFileError/Kind/cannotRead`` and keeps its cookies in memory;
/// the same applies to a folder that other users may write, unless it is sticky like `/tmp`. A file that other users may
/// write is set aside like a damaged one. A group with the name of its user and without other members does not count as
/// another user. For root, every user but root is another user: a tool that runs by `sudo` does not use the cookies of the
/// user whose home directory it sees, and root in a container needs a folder that root has created. A missing folder is
/// created; only its owner has access.
///
/// ```swift
/// let jar = CookieJar(file: CookieJar.defaultFile(named: "shop"))
/// jar.store(setCookie: "sid=31d4; Path=/; Secure", from: url)
/// request.headers["Cookie"] = jar.header(for: url)
/// ```
public final class CookieJar: Sendable {
    /// The result of storing a `Set-Cookie`.
    package enum Outcome: Sendable, Equatable {
        case stored(Cookie)
        /// It is expired, or was evicted because the jar is full.
        case removed
        case refused(CookieRefusal)
    }

    /// The period between two calls of ``CookieJar/clear()``; see ``CookieJar/generation``.
    package struct Generation: Sendable, Hashable {
        private var number = 0

        var next: Generation { Generation(number: number + 1) }
    }

    /// Whether session cookies outlive the process.
    public enum SessionCookies: Sendable {
        /// They are saved, which keeps a user signed in.
        case keep
        /// They are neither written to the file nor read from it.
        case drop
    }

    private let state: SharedCookieJarState
    private let saver: CookieSaver?
    private let errorReporter: CookieFileErrorReporter
    private let suffixes: PublicSuffixList
    private let trustworthyLoopback: Bool
    private let makeOther: @Sendable (String) -> CookieJar
    private let others = Lock<[String: CookieJar]>([:])

    /// Opens a jar, and reads its file.
    ///
    /// - Parameters:
    ///   - file: The file URL of a `cookies.txt`; `nil`, the default, keeps the cookies in memory only.
    ///   - sessionCookies: Whether cookies without an expiry time are saved; they are by default.
    ///   - capacity: How many cookies the jar holds in all, 1 to 1,000,000 and 3,300 by default. Above it, cookies that were
    ///     unused for longest are evicted, those of sites with many cookies first. One site has at most 180. Jars that
    ///     share a file have the same capacity.
    ///   - publicSuffixList: A list in the format of publicsuffix.org; the system's by default.
    ///   - trustworthyLoopback: Whether `http` to `localhost`, `*.localhost`, `127.0.0.0/8` and `::1` may set and receive
    ///     `Secure` cookies, as in browsers; `false` by default.
    ///   - date: The present, at which the file's cookies are expired or not.
    ///   - onError: Called with a problem with the file, once for each kind until it is resolved and occurs again: before
    ///     `init`, `flush()` or `clear()` returns, or later on any thread. By default, ``APIProxy/onError`` is called.
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
        let suffixes = PublicSuffixList(file: publicSuffixList)
        let store = CookieStore(capacity: capacity, suffixes: suffixes)
        let state = SharedCookieJarState(
            CookieJarState(store, hasFile: file != nil, sessionCookies: sessionCookies)
        )
        let errorReporter = CookieFileErrorReporter(hook: onError)
        self.state = state
        self.errorReporter = errorReporter
        self.suffixes = suffixes
        self.trustworthyLoopback = trustworthyLoopback
        makeOther = { name in
            CookieJar(
                file: file?.beside(name),
                sessionCookies: sessionCookies,
                capacity: capacity,
                publicSuffixList: publicSuffixList,
                trustworthyLoopback: trustworthyLoopback,
                onError: onError
            )
        }
        saver = file.map { CookieSaver(file: $0, state: state, errorReporter: errorReporter) }
        saver?.load(at: date)
    }

    package var publicSuffixSource: PublicSuffixSource { suffixes.source }

    /// The jar's present generation.
    ///
    /// Read it before a request is sent, and pass it to `store` with the response: if the jar was cleared in between, the
    /// response's cookies are those of an ended session, and are refused.
    package var generation: Generation { state.withLock(\.generation) }

    /// Every cookie, the oldest first, including expired ones that were not removed yet.
    public var cookies: [Cookie] { state.withLock(\.store.cookies) }

    /// Stores the cookie unless the jar was cleared since `generation`.
    @discardableResult
    package func store(
        setCookie: String,
        from url: URL,
        generation: Generation? = nil,
        at date: Date = .now
    ) -> Outcome {
        store(setCookie: Array(setCookie.utf8), from: url, generation: generation, at: date)
    }

    /// Stores the cookie unless the jar was cleared since `generation`; byte for byte.
    @discardableResult
    package func store(
        setCookie bytes: some Collection<UInt8>,
        from url: URL,
        generation: Generation? = nil,
        at date: Date = .now
    ) -> Outcome {
        guard let url = CookieURL(url, trustsLoopback: trustworthyLoopback) else {
            return .refused(.unsupportedURL)
        }
        do {
            let header = try SetCookieHeader(parsing: Array(bytes))
            let cookie = try Cookie(header, from: url, suffixes: suffixes, at: date)
            return change { $0.insert(cookie, isFromSecureOrigin: url.isSecure, sentIn: generation, at: date) }
        } catch {
            return .refused(error)
        }
    }

    /// At most 8 KB; cookies that do not fit are left out, and bytes that are not UTF-8 are replaced.
    package func header(for url: URL, at date: Date = .now) -> String? {
        CookieHeader.value(cookies(for: url, at: date)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The cookies of a request to `url`, in the order of the header field (RFC 6265bis section 5.8.3).
    public func cookies(for url: URL, at date: Date = .now) -> [Cookie] {
        // Without cookies, the URL need not be parsed.
        guard !state.withLock(\.store.isEmpty) else { return [] }
        guard let url = CookieURL(url, trustsLoopback: trustworthyLoopback) else { return [] }
        return state.withLock { $0.store.cookiesToSend(to: url, at: date) }
    }

    /// Removes the cookies that satisfy `isUnwanted`, except those that change while it is called.
    public func remove(where isUnwanted: (Cookie) -> Bool) {
        let unwanted = cookies.filter(isUnwanted)
        change { $0.remove(unwanted, at: .now) }
    }

    /// Removes every cookie, from the file too, and begins a new generation.
    ///
    /// Other jars of this process that share the file are cleared as well. Returns when the change is on the disk, so that
    /// a logout is permanent, and blocks as ``flush()`` does. If the file cannot be written, the error hook is called and
    /// the jar tries again.
    public func clear() {
        clearInMemory()
        try? flush()
    }

    /// Does not wait for the disk; the next save clears the file.
    func clearInMemory() {
        let logout = change { $0.clear(at: .now) }
        saver?.propagateLogout(at: logout)
    }

    /// Saves the changes and returns when they are on the disk; without changes, nothing is written.
    ///
    /// Blocks for a few milliseconds, and up to two seconds when another process holds the lock.
    ///
    /// - Throws: Why the file could not be written; the jar tries again.
    public func flush() throws(CookieFileError) { try saver?.flush() }

    /// Returns the jar of an environment (``APIEnvironment/name``), the same one each time; this jar for the empty name.
    ///
    /// It has the settings of this one, and where this one has a file, a file beside that: `cookies-staging.txt` beside
    /// `cookies.txt`.
    public func jar(of environment: String) -> CookieJar {
        guard !environment.isEmpty else { return self }
        if let jar = others.withLock({ $0[environment] }) { return jar }
        // Not under the lock, because it reads a file. Of two that are made at the same time, one is released.
        let new = makeOther(environment)
        return others.withLock { others in
            let jar = others[environment] ?? new
            others[environment] = jar
            return jar
        }
    }

    func flushAll() {
        for jar in [self] + others.withLock({ Array($0.values) }) { try? jar.flush() }
    }

    /// Schedules a save when there is something to save.
    private func change<Result: Sendable>(_ body: (inout CookieJarState) -> Result) -> Result {
        let (result, needsSave) = state.withLock { (body(&$0), $0.beginSchedule()) }
        if needsSave { saver?.scheduleSave() }
        return result
    }

    /// See ``CookieSaver/refresh(at:date:)``.
    func refresh(at uptime: Duration, date: Date) { saver?.refresh(at: uptime, date: date) }

    /// Keeps the owner or error hook that there is; the owner is not retained.
    func attach(to owner: any CookieJarOwner) { errorReporter.attach(to: owner) }

    func reportProblems() { errorReporter.report() }
}

extension CookieJar {
    /// The cookie file of this application: ``defaultFile(named:)`` with the name of the process or, on Apple platforms,
    /// the bundle identifier.
    public static var defaultFile: URL {
        defaultFile(named: Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName)
    }

    /// The cookie file of an application or account by name, in which `/` is replaced by `-`.
    ///
    /// On Linux it is `$XDG_STATE_HOME/<name>/cookies.txt`, or `~/.local/state/<name>/cookies.txt` if that variable is not
    /// an absolute path (XDG Base Directory Specification 0.8); on Apple platforms
    /// `~/Library/Application Support/<name>/cookies.txt`, and on tvOS, where an app can write only caches,
    /// `~/Library/Caches/<name>/cookies.txt`, which the system may remove while the app does not run.
    public static func defaultFile(named name: String) -> URL {
        let folder = name.replacingScalar("/", with: "-")
        let isFolder = !folder.isEmpty && folder != "." && folder != ".."
        return stateFolder.appending(component: isFolder ? folder : "-").appending(component: "cookies.txt")
    }
}

extension CookieJar {
    #if os(Linux)
    /// XDG Base Directory Specification 0.8.
    static var stateFolder: URL {
        let folder = ProcessInfo.processInfo.environment["XDG_STATE_HOME"] ?? ""
        guard folder.hasPrefix("/") else { return .homeDirectory.appending(path: ".local/state") }
        return URL(filePath: folder, directoryHint: .isDirectory)
    }
    #else
    /// The folder of the application's files, which the system does not remove.
    ///
    /// On tvOS, where an app can write only caches, the folder of these, which the system may empty while the app does not run.
    /// Untested.
    static var stateFolder: URL {
        #if os(tvOS)
        .cachesDirectory
        #else
        .applicationSupportDirectory
        #endif
    }
    #endif
}

extension URL {
    /// Adds `name` before the extension; `/` in it is replaced by `-`.
    func beside(_ name: String) -> URL {
        let base = deletingPathExtension().lastPathComponent + "-" + name.replacingScalar("/", with: "-")
        let file = deletingLastPathComponent().appending(component: base)
        return pathExtension.isEmpty ? file : file.appendingPathExtension(pathExtension)
    }
}
