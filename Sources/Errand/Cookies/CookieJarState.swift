import Foundation

/// The state of a jar, which the jar shares with its saver.
///
/// The lock is held for changes of the state only: never during a call to the file, to another jar or to the app.
final class SharedCookieJarState: Sendable {
    private let state: Lock<CookieJarState>

    init(_ state: CookieJarState) {
        self.state = Lock(state)
    }

    /// For work without the lock.
    var present: CookieJarState { withLock { $0 } }

    func withLock<Result: Sendable>(_ body: (inout CookieJarState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}

/// The cookies of a jar, and the jar's changes that are not in its file yet.
struct CookieJarState: Sendable {
    /// A cookie was set if the jar has it, and otherwise removed.
    struct Change {
        let time: CookieTimestamp
        /// Whether the change applies to a `Secure` cookie in the file as well.
        let isSecure: Bool
    }

    var store: CookieStore
    private(set) var generation: CookieJar.Generation = 0
    /// Of all jars, by ``CookieJar/logoutCount``.
    var newestLogout = 0
    /// The time of the last logout, which has ended everything up to then.
    private(set) var cleared = CookieTimestamp.never
    private(set) var changes: [Cookie.Key: Change] = [:]
    /// The latest date of the changes, at which a save removes expired cookies.
    private(set) var changeDate: Date?
    private(set) var isLogoutUnsaved = false
    /// The checksum of the file as the jar last read or wrote it.
    private(set) var fileChecksum: UInt64?
    private let hasFile: Bool
    private let sessionCookies: CookieJar.SessionCookies
    private var isFileDamaged = false
    private var isSaveScheduled = false
    private var isSaving = false
    /// How often the file was taken over or saved, or the cookies cleared.
    private var revision = 0

    init(_ store: CookieStore, hasFile: Bool, sessionCookies: CookieJar.SessionCookies = .keep) {
        self.store = store
        self.hasFile = hasFile
        self.sessionCookies = sessionCookies
    }

    /// RFC 6265bis section 5.7, as far as it depends on the other cookies.
    mutating func insert(
        _ cookie: Cookie,
        isFromSecureOrigin: Bool,
        sentIn sent: CookieJar.Generation?,
        at date: Date
    ) -> CookieJar.Outcome {
        guard sent == nil || sent == generation else { return .refused(.cleared) }
        store.removeExpired(at: date)
        guard isFromSecureOrigin || !store.shadowsSecureCookie(cookie) else { return .refused(.shadowsSecureCookie) }
        var cookie = cookie
        // After a logout, also when the clock was set back since.
        cookie.updated = max(CookieTimestamp(date), cleared.next)
        let (key, change) = (cookie.key, Change(time: cookie.updated, isSecure: isFromSecureOrigin))
        guard !cookie.isExpired(at: date) else {
            // Also when this jar does not have the cookie: another process may have saved it.
            store.remove(key)
            record(change, of: key, at: date)
            return .removed
        }
        let isNew = store[key] == nil
        if store.insert(cookie) { record(change, of: key, at: date) } else { changes[key] = nil }
        for evicted in isNew ? store.evict(afterInsertionInto: cookie.domain) : [] {
            changes[evicted.cookie.key] = nil
            if evicted.saved != nil { record(Change(time: change.time, isSecure: true), of: evicted.cookie.key) }
        }
        return store[key].map { .stored($0) } ?? .removed
    }

    /// Except those that have changed.
    mutating func remove(_ cookies: [Cookie], at date: Date) {
        let change = Change(time: max(CookieTimestamp(date), cleared.next), isSecure: true)
        for cookie in cookies where store[cookie.key]?.hasSameContent(as: cookie) == true {
            store.remove(cookie.key)
            record(change, of: cookie.key)
        }
    }

    private mutating func record(_ change: Change, of key: Cookie.Key, at date: Date? = nil) {
        guard hasFile else { return }
        changes[key] = change
        if let date { changeDate = max(date, changeDate ?? date) }
        // While no save succeeds, a server must not make the removals grow.
        guard changes.count > 2 * max(store.capacity, CookieStore.maximumPerSite) else { return }
        changes = changes.filter { store[$0.key] != nil }
    }

    /// Returns the time of the logout, for the other jars of the file.
    mutating func clear(at date: Date) -> CookieTimestamp {
        clear(upTo: store.cookies.map(\.updated).reduce(max(CookieTimestamp(date), cleared.next), max))
        isLogoutUnsaved = hasFile
        return cleared
    }

    /// Another jar of the file was cleared.
    mutating func clear(upTo time: CookieTimestamp) {
        store.removeAll { _ in true }
        (changes, changeDate) = ([:], nil)
        cleared = max(cleared, time)
        generation += 1
        revision += 1
    }

    // MARK: Schedule

    var hasChanges: Bool { !changes.isEmpty || isLogoutUnsaved || isFileDamaged }

    /// Returns whether the caller has to schedule a save; only once until ``endSchedule()``.
    mutating func beginSchedule() -> Bool {
        guard hasChanges, !isSaveScheduled else { return false }
        isSaveScheduled = true
        return true
    }

    mutating func endSchedule() { isSaveScheduled = false }
}

// MARK: The file

extension CookieJarState {
    var fileContents: CookieFileFormat.Contents {
        CookieFileFormat.Contents(cookies: store.cookies.filter(isLasting), cleared: cleared)
    }

    private func isLasting(_ cookie: Cookie) -> Bool {
        (sessionCookies == .keep || cookie.expires != nil) && CookieFileFormat.canRepresent(cookie)
    }

    /// Only cookies that a `Set-Cookie` can express, as a jar stores them.
    func accepted(_ file: CookieFileSnapshot) -> CookieFileSnapshot {
        var file = file
        let modified = min(file.modified, CookieTimestamp(.now))
        file.contents.cookies = file.contents.cookies.compactMap { accepted($0, modified: modified) }
        return file
    }

    private func accepted(_ cookie: Cookie, modified: CookieTimestamp) -> Cookie? {
        guard isLasting(cookie), SetCookieHeader.canExpress(cookie) else { return nil }
        var cookie = cookie
        // The domain may have become a public suffix since.
        cookie.isHostOnly = cookie.isHostOnly || store.suffixes.isPublicSuffix(cookie.domain)
        guard cookie.updated == .never else { return cookie }
        // Another tool has written the file, without the comments, but may not have changed this cookie.
        let saved = store.entry(cookie.key)?.saved
        if let saved, !cookie.isUpdate(of: saved) { return saved }
        cookie.created = saved?.created ?? cookie.created
        cookie.updated = modified
        return cookie
    }

    /// Puts this jar's unsaved changes on top of the cookies of `file`, which ``accepted(_:)`` returned.
    ///
    /// Returns false, without a change, when a logout or a save was there since `before`: it may be newer than the file.
    mutating func adopt(_ file: CookieFileSnapshot, readAfter before: CookieJarState, at date: Date) -> Bool {
        guard !isSaving, revision == before.revision else { return false }
        adopt(file)
        store.removeExpired(at: date)
        return true
    }

    private mutating func adopt(_ file: CookieFileSnapshot) {
        let theirs = withoutEnded(file.contents)
        for cookie in theirs {
            let key = cookie.key
            // An insecure response changes no Secure cookie of another process.
            if let change = changes[key], !change.isSecure, cookie.isSecure { changes[key] = nil }
            let isKnown = store[key].map { $0.hasSameContent(as: cookie) && $0.updated >= cookie.updated } ?? false
            if changes[key] == nil, !isKnown { store.insert(cookie) }
            store.markSaved(cookie)
        }
        for (key, change) in changes where !change.isSecure {
            guard let cookie = store[key], theirs.contains(where: cookie.shadows) else { continue }
            store.remove(key)
            changes[key] = nil
        }
        if !file.isDamaged {
            // What is missing in the file was removed by another process.
            let keys = Set(theirs.map(\.key))
            for cookie in store.cookies where !keys.contains(cookie.key) {
                if changes[cookie.key] == nil, isLasting(cookie) {
                    store.remove(cookie.key)
                } else {
                    store.markUnsaved(cookie.key)
                }
            }
        }
        store.evict()
        (fileChecksum, isFileDamaged) = (file.checksum, file.isDamaged)
        revision += 1
    }

    /// Applies the last logout, whether it is this jar's or in the file, and returns the cookies of the file that remain.
    private mutating func withoutEnded(_ contents: CookieFileFormat.Contents) -> [Cookie] {
        guard contents.cleared < cleared else {
            // What exchanges set that began before this was read may belong to the session that has ended.
            if contents.cleared > cleared { generation += 1 }
            cleared = contents.cleared
            changes = changes.filter { $0.value.time > cleared }
            store.removeAll { $0.updated <= cleared }
            return contents.cookies
        }
        // What was set after the present was set before the clock was set back, which may have been before the logout.
        let present = CookieTimestamp(max(changeDate ?? .now, .now))
        return contents.cookies.filter { $0.updated > cleared && $0.updated <= present }
    }

    /// Begins or ends a save, which keeps the file from being taken over; returns what to write, or what was not written.
    mutating func setSaving(_ isSaving: Bool) -> CookieJarState {
        self.isSaving = isSaving
        return self
    }

    /// `file` is what ``accepted(_:)`` returned.
    func merged(with file: CookieFileSnapshot, at date: Date?) -> CookieJarState {
        var merged = self
        // A file that is unchanged or missing changes nothing: a deleted file does not mean that cookies were removed.
        let isChanged = file.checksum != nil && file.checksum != fileChecksum
        if isChanged || !file.contents.isEmpty { merged.adopt(file) }
        if let date { merged.store.removeExpired(at: date) }
        return merged
    }

    /// What has changed since `before`, during the save, remains to be saved.
    ///
    /// After the save of a logout, the jar stays empty: what other jars have set since is read with the next look at the file.
    mutating func commit(_ file: CookieFileSnapshot, of before: CookieJarState, merged: CookieStore) {
        for (key, change) in before.changes where change.time > cleared {
            let isSaved =
                store[key] == before.store[key] && changes[key].map { $0.isSecure == change.isSecure } != false
            // A Secure cookie in the file has refused it.
            if isSaved, merged[key] == nil { store.remove(key) }
            changes[key] = isSaved ? nil : changes[key] ?? change
        }
        if changes.isEmpty { changeDate = nil }
        isLogoutUnsaved = isLogoutUnsaved && cleared > before.cleared
        isSaving = false
        guard before.isLogoutUnsaved else { return adopt(file) }
        (fileChecksum, isFileDamaged) = (nil, false)
        revision += 1
    }
}

extension Cookie {
    /// Compares the fields of a `cookies.txt`, in which an expiry time is in whole seconds.
    fileprivate func isUpdate(of saved: Cookie) -> Bool {
        guard valueBytes == saved.valueBytes, isSecure == saved.isSecure, isHTTPOnly == saved.isHTTPOnly else {
            return true
        }
        guard let expires, let end = saved.expires else { return expires != saved.expires }
        return abs(expires.timeIntervalSince(end)) > 1
    }
}
