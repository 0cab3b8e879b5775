public import Foundation
import Synchronization

/// A cookie store that follows RFC 6265bis; with a file, its cookies persist when the process ends.
///
/// A jar contains one account's cookies: give each service, or each account of a service, a separate jar and file. All
/// methods may be called on any thread; only the initializer, ``jar(of:)``, ``flush()`` and ``removeAll()`` wait for the
/// disk.
///
/// Changes are saved within a fraction of a second, immediately by ``flush()`` and ``removeAll()``, and when the process exits, but
/// not when a signal ends the process. The file is a Netscape `cookies.txt`, which curl and other programs read and write. Each
/// save replaces the whole file, and only its owner may read it.
///
/// Several processes, and several jars of one process, may share a file, even with differently spelled paths. A save applies this
/// jar's changes to the file and reads the changes of other jars. If two jars change the same cookie before either has saved, the
/// last save wins. A logout removes every cookie that was stored before it, even if another process saves the cookie later. To
/// take turns, processes lock the empty file `<name>.lock` next to the cookie file.
///
/// A load that begins a second or more after the jar last checked the file checks it again. Every load that begins at least a
/// second after another process has saved a change, such as a login or a logout, therefore uses that change. The methods of a jar
/// do not check the file.
///
/// A damaged file, a directory or a symbolic link at the file's path is renamed to `<name>.corrupt-1` and so on, and is never
/// written to or deleted. A damaged file is replaced only after the cookies found in it have been saved.
///
/// A jar reads no file whose contents another user can choose. The file and its folder must belong to the process's user or to
/// root, and other users must not be able to write to the folder unless it is sticky like `/tmp`. Otherwise the jar reads and
/// writes nothing, reports ``CookieFileError/Kind/cannotRead``, and keeps its cookies in memory. A file that other users may
/// write is set aside like a damaged one. A group with the name of its user and without other members does not count as another
/// user. For root, every other user counts: a tool that runs with `sudo` does not use the cookies in the home directory of the
/// user who started it, and root in a container needs a folder that root has created. A missing folder is created with access for
/// its owner only.
///
/// ```swift
/// let jar = CookieJar(file: CookieJar.defaultFile(named: "shop"))
/// jar.store(setCookie: "sid=31d4; Path=/; Secure", from: url)
/// ```
public final class CookieJar: Sendable {
    /// The result of storing a `Set-Cookie`.
    package enum Outcome: Sendable, Equatable {
        case stored(Cookie)
        /// It is expired, or was evicted because the jar is full.
        case removed
        case refused(CookieRefusal)
    }

    /// The period between two logouts; see ``CookieJar/generation``.
    package typealias Generation = Int

    /// Whether session cookies outlive the process.
    public enum SessionCookies: Sendable {
        /// They are saved, which keeps a user signed in.
        case keep
        /// They are neither written to the file nor read from it.
        case drop
    }

    private let state: SharedCookieJarState
    private let saver: CookieSaver?
    private let errorReporter: ProblemReporter<CookieFileError>
    private let suffixes: PublicSuffixList
    private let trustworthyLoopback: Bool
    private let makeOther: @Sendable (String) -> CookieJar
    private let others = Lock<[String: CookieJar]>([:])
    /// For the sessions of a cache: the same for jars of one file in all processes, wherever the home folder is, and unique for a
    /// jar without a file.
    let cacheName: String

    /// Opens a jar, and reads its file.
    ///
    /// - Parameters:
    ///   - file: The file URL of a `cookies.txt`; `nil`, the default, keeps the cookies in memory only.
    ///   - sessionCookies: Whether cookies without an expiry time are saved; they are by default. Jars that share a file must
    ///     agree, because each save writes the whole file.
    ///   - capacity: The maximum number of cookies in the jar, from 1 to 1,000,000; 3,300 by default. Beyond it, the least
    ///     recently used cookies are evicted, those of sites with many cookies first, and there those without `Secure`. One site
    ///     has at most 180 cookies. Jars that share a file must have the same capacity.
    ///   - publicSuffixList: A list in the format of publicsuffix.org; by default that of the system, which only Linux
    ///     has. That is also used if the file cannot be read, which is reported as ``CookieFileError/Kind/cannotRead``.
    ///   - trustworthyLoopback: Whether `http` to `localhost`, `*.localhost`, `127.0.0.0/8` and `::1` may set and receive
    ///     `Secure` cookies, as in browsers; `false` by default.
    ///   - date: The current time, which decides whether the file's cookies have expired.
    ///   - onError: Called with each problem with the file, before `init`, `flush()` or `removeAll()` returns, or later on any
    ///     thread. Each kind of problem is reported once, and again only if it recurs after it was resolved. By default,
    ///     ``APIProxy/onError`` is called.
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
        self.state = state
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
        cacheName = CookieFile.cacheName(of: file)
        let errorReporter = ProblemReporter<CookieFileError>(repeating: .setAside, hook: onError)
        self.errorReporter = errorReporter
        saver = file.map { CookieSaver(file: $0, state: state, errorReporter: errorReporter) }
        if let publicSuffixList, PublicSuffixList.list(at: publicSuffixList) == nil {
            let reason = "it is no list of public suffixes; that of the system is used"
            errorReporter.record([CookieFileError(.cannotRead, file: publicSuffixList, reason: reason)])
            errorReporter.report()
            // That the cookie file cannot be read is another problem.
            errorReporter.record([], resolved: [.cannotRead])
        }
        saver?.load(at: date)
    }

    /// The jar's present generation.
    ///
    /// Read it before a request is sent, and pass it to `store` with the response: if the jar was cleared in between, the
    /// response's cookies are those of an ended session, and are refused.
    package var generation: Generation { state.withLock(\.generation) }

    /// The time of the last logout.
    var clearedName: String {
        let cleared = state.withLock(\.cleared)
        return cleared == .never ? "0" : "\(cleared.microseconds)"
    }

    /// All cookies, oldest first, those of other programs in the order of their file, including expired cookies that have not been
    /// removed yet.
    public var cookies: [Cookie] { state.withLock(\.store.cookies) }

    /// Stores a cookie as if a response from `url` had set it, for example one of a sign-in in a web view.
    ///
    /// - Parameters:
    ///   - setCookie: The value of a `Set-Cookie` header line (RFC 6265bis), such as `sid=31d4; Path=/; Secure`.
    ///   - url: What a browser would have loaded; it decides whether the domain and `Secure` are allowed.
    /// - Returns: Whether the jar has accepted the line; one that has expired removes the cookie.
    @discardableResult
    public func store(setCookie: String, from url: URL) -> Bool {
        if case .refused = store(setCookie: setCookie, from: url, generation: nil) { false } else { true }
    }

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
        unlessUpdatedSince newest: Date? = nil,
        removalsOnly: Bool = false,
        except own: [Cookie] = [],
        at date: Date = .now
    ) -> Outcome {
        guard let url = CookieURL(url, trustsLoopback: trustworthyLoopback) else {
            return .refused(.unsupportedURL)
        }
        do {
            let header = try SetCookieHeader(parsing: Array(bytes))
            let cookie = try Cookie(header, from: url, suffixes: suffixes, at: date)
            return change { state in
                if let newest, !removalsOnly || cookie.isExpired(at: date), let known = state.store[cookie.key],
                    known.updated > CookieTimestamp(newest), !own.contains(where: { $0.key == cookie.key })
                {
                    return .refused(.older)
                }
                return state.insert(cookie, isFromSecureOrigin: url.isSecure, sentIn: generation, at: date)
            }
        } catch {
            return .refused(error)
        }
    }

    /// At most 8 KB; cookies that do not fit are left out, and bytes that are not UTF-8 are replaced.
    package func header(for url: URL, at date: Date = .now) -> String? {
        CookieHeader.value(cookies(for: url, at: date)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The cookies of a request to `url`, in the order of the header field (RFC 6265bis section 5.8.3).
    public func cookies(for url: URL, at date: Date = .now) -> [Cookie] { cookies(for: url, at: date, of: nil) }

    /// None if all have been removed since `generation`.
    func cookies(for url: URL, at date: Date, of generation: Generation?) -> [Cookie] {
        // Without cookies, the URL need not be parsed.
        guard !state.withLock(\.store.isEmpty) else { return [] }
        guard let url = CookieURL(url, trustsLoopback: trustworthyLoopback) else { return [] }
        return state.withLock { state in
            generation ?? state.generation == state.generation ? state.store.cookiesToSend(to: url, at: date) : []
        }
    }

    /// Removes the cookies that satisfy `isUnwanted`, except those that change while it is called.
    public func removeAll(where isUnwanted: (Cookie) -> Bool) {
        let unwanted = cookies.filter(isUnwanted)
        change { $0.remove(unwanted, at: .now) }
    }

    /// Removes every cookie, from the file too, and begins a new generation.
    ///
    /// Also clears other jars of this process that share the file. Blocks as ``flush()`` does and returns when the change is on
    /// the disk, so that a logout is permanent. If the file cannot be written, it is removed, even if it is damaged, the error hook
    /// is called, and the jar tries again later.
    public func removeAll() {
        clearInMemory()
        try? flush()
    }

    private static let logouts = Atomic(0)
    /// How many sessions with cookies have ended.
    static var logoutCount: Int { logouts.load(ordering: .sequentiallyConsistent) }
    /// Which of them was the last one that has removed these cookies; 0 before it.
    var newestLogout: Int { state.withLock(\.newestLogout) }

    /// As ``clearInMemory()``, for the next user, and not for the next login of the same one.
    func clearForNextUser() {
        let number = Self.logouts.add(1, ordering: .sequentiallyConsistent).newValue
        state.withLock { $0.newestLogout = number }
        saver?.recordLogout(number)
        clearInMemory()
    }

    /// Does not wait for the disk; the next save clears the file.
    func clearInMemory() {
        let logout = change { $0.clear(at: .now) }
        saver?.propagateLogout(at: logout)
    }

    /// Saves the changes and returns when they are on the disk; without changes, nothing is written.
    ///
    /// Blocks for a few milliseconds, and up to two seconds when another process holds the lock, or four if the jar has begun
    /// to save by itself.
    ///
    /// - Throws: Why the file could not be written; the jar tries again.
    public func flush() throws(CookieFileError) { try saver?.flush() }

    /// Returns the jar of an environment (``APIEnvironment/name``), the same one each time; this jar for the empty name.
    ///
    /// The returned jar has the same settings as this jar. If this jar has a file, the returned jar has a file in the same
    /// folder: `cookies-staging.txt` beside `cookies.txt`.
    public func jar(of environment: String) -> CookieJar {
        guard !environment.isEmpty else { return self }
        if let jar = others.withLock({ $0[environment] }) { return jar }
        // Not under the lock, because it reads a file. Of two that are made at the same time, one is released.
        let new = makeOther(environment)
        return others.withLock { $0.value(for: environment, orElse: new) }
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
    func refreshNow(at date: Date) { saver?.refresh(at: date, waits: true) }

    /// Keeps the owner or error hook that there is; the owner is not retained.
    func attach(to owner: any ErrorHookOwner) { errorReporter.attach(to: owner) }

    func reportProblems() { errorReporter.report() }
}

extension CookieJar {
    /// The cookie file of an application or account by name, in which `/` and `%` are percent-encoded.
    ///
    /// Without a name, it is the file of this application, named after the process or, on Apple platforms, after the bundle
    /// identifier.
    ///
    /// On Linux it is `$XDG_STATE_HOME/<name>/cookies.txt`, or `~/.local/state/<name>/cookies.txt` if that variable is not
    /// an absolute path (XDG Base Directory Specification 0.8); on Apple platforms
    /// `~/Library/Application Support/<name>/cookies.txt`, and on tvOS, where an app can write only caches,
    /// `~/Library/Caches/<name>/cookies.txt`, which the system may remove while the app does not run.
    public static func defaultFile(named name: String? = nil) -> URL {
        let name = name ?? Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        let folder = name.asFileName
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
    /// Adds `name` before the extension; `/` and `%` in it are percent-encoded.
    func beside(_ name: String) -> URL {
        let base = deletingPathExtension().lastPathComponent + "-" + name.asFileName
        let file = deletingLastPathComponent().appending(component: base)
        return pathExtension.isEmpty ? file : file.appendingPathExtension(pathExtension)
    }
}

extension String {
    fileprivate var asFileName: String { replacingScalar("%", with: "%25").replacingScalar("/", with: "%2F") }
}
