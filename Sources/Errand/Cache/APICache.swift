import Dispatch
public import Foundation

/// Stored responses on the disk, for the loads of a proxy; see ``CachePolicy``.
///
/// ```swift
/// let cache = APICache(folder: APICache.defaultFolder)
/// let proxy = APIProxy(service: service, cookies: CookieJar(file: CookieJar.defaultFile()), cache: cache)
/// ```
///
/// A stored response belongs to a session: to the origin and the ``APIEnvironment`` of the service, and to the cookie jar, whose
/// file names the account. No other session receives it. ``APIProxy/logout(from:)`` removes all that belongs to the jar, and so
/// does a request that signs in (``BaseAPIRequest/isLoginRequest``); after ``APIProxy/switchAccount(of:to:)`` those of the new
/// jar are used. Responses of a jar without a file are not found by the next process. An app that changes to another account's
/// token in any other way must call ``APIProxy/logout(from:)`` first.
///
/// Each response is a file that only its owner may read, with a checksum, and a long body is a file of its own. A file that is
/// damaged or of another version is removed, reported to ``APIProxy/onError``, and not used. Nothing that happens to the folder
/// makes a load fail: a full disk, a removed or read-only folder, a killed process, a clock that is set back. Several processes
/// may share a folder. Nothing waits until the disk has what is stored.
///
/// All members may be called from any thread.
public final class APICache: Sendable {
    private struct State {
        var sessions: [String: CacheFolder] = [:]
        /// The beginnings of the names of those whose responses could not be removed, and are not to be found; with the names of
        /// those that have been removed since.
        var unremoved: [String: Set<String>] = [:]
        /// What is being validated after it was used.
        var validating: Set<String> = []
        /// Stored since the last count of everything; before the first one, more than any capacity.
        var newBytes = Int64.max / 2
        var isCounting = false

        /// Each has an open folder, and a program may have a jar for each of thousands of users; returns those that no load has.
        mutating func removeUnused() -> [CacheFolder] {
            guard sessions.count >= 32 else { return [] }
            var unused: [CacheFolder] = []
            // Not the keys themselves: they would refer to each.
            for name in Array(sessions.keys) {
                if let index = sessions.index(forKey: name), isKnownUniquelyReferenced(&sessions.values[index]) {
                    unused.append(sessions.remove(at: index).value)
                }
            }
            return unused
        }
    }

    private static let queue = DispatchQueue(label: "errand.cache", qos: .utility)
    private static let reports = DispatchQueue(label: "errand.cache.reports", qos: .utility)

    let usesHeuristics: Bool
    let problems = ProblemReporter<APICacheError>(repeating: .unreadable)
    private let folder: String
    private let capacity: Int64
    private let state = Lock(State())

    /// Opens a cache, without reading what is stored.
    ///
    /// - Parameters:
    ///   - folder: The folder, which is made when it is needed. It must contain nothing else.
    ///   - capacity: The greatest number of bytes of all responses, of all sessions; 100 MB by default. Beyond it, the least
    ///     recently used responses are removed. A response of more than a tenth is not stored, nor is
    ///     the one before it kept.
    ///   - usesHeuristicFreshness: Whether a response with a `Last-Modified` and no expiry time is fresh for a tenth of its age
    ///     (RFC 9111 section 4.2.2), at most a day; false by default, so that such a response is validated.
    public init(folder: URL, capacity: Int = 100_000_000, usesHeuristicFreshness: Bool = false) {
        precondition(folder.isFileURL, "a cache's folder has a file URL")
        self.folder = folder.absoluteURL.path
        self.capacity = Int64(max(0, min(capacity, .max / 2)))
        usesHeuristics = usesHeuristicFreshness
        Self.queue.async { self.removeRest() }
    }

    /// The folder for the responses of this application, which the system may empty.
    ///
    /// On Linux `$XDG_CACHE_HOME/<process>/errand`, or `~/.cache/<process>/errand`; on Apple's platforms
    /// `Library/Caches/<bundle identifier>/errand`.
    public static var defaultFolder: URL {
        #if os(Linux)
        let folder = ProcessInfo.processInfo.environment["XDG_CACHE_HOME"] ?? ""
        let caches = folder.hasPrefix("/") ? URL(filePath: folder) : URL.homeDirectory.appending(path: ".cache")
        return caches.appending(components: ProcessInfo.processInfo.processName, "errand")
        #else
        let name = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return URL.cachesDirectory.appending(components: name, "errand")
        #endif
    }

    /// Removes all responses of all sessions.
    ///
    /// Returns when none is found any more; the files are removed afterwards, on another thread.
    public func removeAll() { endSessions("") }

    // MARK: Sessions

    /// `nil` when the folder cannot be used; another process may end each one between its making and its opening.
    func session(_ name: String, tries: Int = 10) -> CacheFolder? {
        if let session = state.withLock({ $0.sessions[name] }) {
            if !session.isRemoved { return session }
            drop(session)
        }
        guard tries > 0, makeFolder(), isRemoved(name) else { return nil }
        do throws(SystemError) {
            let new = try CacheFolder("\(folder)/\(name)", name: name) { [problems] in Self.report($0, to: problems) }
            state.withLock { state in
                let unused = state.sessions[name] == nil ? state.removeUnused() : []
                // The folder of the new one is that of another one, which was opened meanwhile.
                if state.sessions.value(for: name, orElse: new) !== new { new.end() }
                return unused
            }
            problems.record([], resolved: [.unusableFolder])
        } catch {
            // The folder of all of them may have been removed, or another process has ended a session just now.
            guard error.number == ENOENT, tries > 1 else {
                report(APICacheError(kind: .unusableFolder, reason: error.reason))
                return nil
            }
        }
        // It may have been ended between its opening and this.
        return self.session(name, tries: tries - 1)
    }

    /// Whether what a session has may be used, and changed: another process may have ended it.
    ///
    /// The next load then opens a new one.
    func isCurrent(_ session: CacheFolder) -> Bool {
        if session.isCurrent { return true }
        drop(session)
        return false
    }

    private func drop(_ session: CacheFolder) {
        session.end()
        state.withLock { state in
            state.sessions[session.name] === session ? state.sessions.removeValue(forKey: session.name) : nil
        }
    }

    /// What is stored with the cookies of a jar is found by no load that begins later.
    func endSessions(of jar: CookieJar) { endSessions(jar.cacheName + "-") }

    private func endSessions(_ beginning: String) {
        let open = close(beginning)
        do throws(SystemError) {
            for name in try names() where !name.hasPrefix(".") && name.hasPrefix(beginning) { remove(name) }
        } catch {
            // At least those of this process.
            open.forEach(remove)
            if error.number != ENOENT { didNotRemove(beginning, error) }
        }
        // Those that have been opened meanwhile.
        _ = close(beginning)
    }

    /// Returns the names of the sessions that were open.
    private func close(_ beginning: String) -> [String] {
        let open = state.withLock(\.sessions).values.filter { $0.name.hasPrefix(beginning) }
        for session in open { drop(session) }
        return open.map(\.name)
    }

    private func remove(_ name: String) {
        if let error = setAside(name) { didNotRemove(name, error) }
    }

    private func didNotRemove(_ beginning: String, _ error: SystemError) {
        state.withLock { $0.unremoved[beginning] = [] }
        report(APICacheError(kind: .cannotWrite, reason: "stored responses were not removed: \(error.reason)"))
    }

    /// Removes what could not be removed before, for example while there was no descriptor.
    private func isRemoved(_ name: String) -> Bool {
        let beginnings = state.withLock { state in
            state.unremoved.filter { name.hasPrefix($0.key) && !$0.value.contains(name) }.map(\.key)
        }
        guard !beginnings.isEmpty else { return true }
        guard setAside(name) == nil else { return false }
        state.withLock { state in for beginning in beginnings { state.unremoved[beginning]?.insert(name) } }
        return true
    }

    private func makeFolder() -> Bool {
        var reason: String?
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            reason = stat(ofTarget: folder)?.reasonToRefuseFolder
        } catch {
            reason = "the folder cannot be made"
        }
        if let reason { report(APICacheError(kind: .unusableFolder, reason: reason)) }
        return reason == nil
    }

    /// Returns what ends the reservation; `nil` while another load validates the same.
    func reserve(_ url: String, in session: CacheFolder?) -> (@Sendable () -> Void)? {
        let key = "\(session?.name ?? "") \(url)"
        guard state.withLock({ $0.validating.insert(key).inserted }) else { return nil }
        return { [self] in state.withLock { _ = $0.validating.remove(key) } }
    }

    // MARK: Storing

    func store(_ stored: StoredResponse, _ content: CacheContent, _ key: CacheKey, in session: CacheFolder) {
        guard stored.bodyLength <= capacity / 10 else {
            // Not older ones in its place.
            for entry in session.entries(key, where: { !$0.isNewer(than: stored) }) { session.remove(entry) }
            return
        }
        let isStored = change(session) { session throws(SystemError) in try session.store(stored, content, key) }
        if !isStored { session.remove(key) }
    }

    func update(_ entry: CacheEntry, to stored: StoredResponse, in session: CacheFolder) {
        let isStored = change(session) { session throws(SystemError) in
            try session.update(entry, to: stored)
            return 0
        }
        if !isStored { session.remove(entry) }
    }

    private func change(_ session: CacheFolder, _ body: (CacheFolder) throws(SystemError) -> Int64) -> Bool {
        guard isCurrent(session) else { return true }
        do throws(SystemError) {
            let size = try body(session) + 1_024
            problems.record([], resolved: [.cannotWrite])
            let mustCount = state.withLock { state in
                state.newBytes += size
                guard !state.isCounting, state.newBytes > capacity / 10 else { return false }
                (state.newBytes, state.isCounting) = (0, true)
                return true
            }
            if mustCount {
                Self.queue.async { [self] in
                    evict()
                    state.withLock { $0.isCounting = false }
                }
            }
            return true
        } catch {
            // The session has been removed meanwhile, or another load has stored something at the same time.
            if ![ENOENT, ENOTDIR, EISDIR, ENOTEMPTY].contains(error.number) {
                report(APICacheError(kind: .cannotWrite, reason: error.reason))
            }
            return false
        }
    }

    private func report(_ error: APICacheError) { Self.report(error, to: problems) }

    private static func report(_ error: APICacheError, to problems: ProblemReporter<APICacheError>) {
        problems.record([error])
        // Not on the thread of a load or a transport, which what the app does would stop.
        reports.async { problems.report() }
    }

    /// Returns when the problems are reported that loads have had until now, for example before a process exits.
    package static func waitForReports() { reports.sync {} }

    // MARK: Removing

    private static let removedMark = ".removed-"

    /// Renamed first, because to remove thousands of files takes long; returns why it is still there.
    private func setAside(_ name: String) -> SystemError? {
        let removed = "\(folder)/\(Self.removedMark)\(String.uniqueName)"
        guard rename("\(folder)/\(name)", removed) == 0 else {
            let error = SystemError.last("rename")
            return error.number == ENOENT ? nil : error
        }
        Self.queue.async { Self.removeFolder(removed) }
        return nil
    }

    /// Another process may add a file meanwhile.
    private static func removeFolder(_ path: String) {
        for _ in 0..<10 {
            try? FileManager.default.removeItem(atPath: path)
            if access(path, F_OK) != 0 { return }
        }
    }

    /// What killed processes have left.
    private func removeRest() {
        // Who else may write it could have this follow a link of theirs.
        guard stat(ofTarget: folder)?.reasonToRefuseFolder == nil else { return }
        for name in (try? names()) ?? [] {
            if name.hasPrefix(Self.removedMark) { Self.removeFolder("\(folder)/\(name)") }
            if CacheSession.isOfEndedProcess(name) { remove(name) }
        }
    }

    private func names() throws(SystemError) -> [String] {
        try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY).names()
    }

    /// Waits until what is over the capacity has been removed.
    package func waitForEviction() { Self.queue.sync {} }

    private func evict() {
        removeRest()
        let sessions = ((try? names()) ?? []).filter { !$0.hasPrefix(".") }
        CacheFileGroup.removeLeastRecentlyUsed(in: sessions.map { "\(folder)/\($0)" }, beyond: capacity)
        let open = state.withLock { Set($0.sessions.keys) }
        for name in sessions where !open.contains(name) { CacheFileGroup.removeIfEmpty("\(folder)/\(name)") }
    }
}

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
}

extension APICacheError: Problem {}

extension APICacheError: CustomStringConvertible {
    /// The kind and the reason.
    public var description: String { "\(kind): \(reason)" }
}
