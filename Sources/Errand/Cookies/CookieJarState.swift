import Foundation
import Synchronization

/// The state of a jar, which the jar shares with its saver.
///
/// The lock is held for changes of the state only: never during a call to the file, to another jar or to the app.
final class SharedCookieJarState: Sendable {
    private let state: Mutex<CookieJarState>

    init(_ state: CookieJarState) {
        self.state = Mutex(state)
    }

    func withLock<Result: Sendable>(_ body: (inout CookieJarState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}

/// The cookies of a jar and the changes that were not saved yet.
struct CookieJarState: Sendable {
    private(set) var store: CookieStore
    private(set) var generation = CookieJar.Generation()
    /// What was not saved yet; `nil` without a file.
    private var changes: CookieChanges?
    /// The checksum of the file as the jar last read or wrote it.
    private var fileChecksum: UInt64?
    private var isSaveScheduled = false
    /// Whether changes were taken for a save that has not ended.
    private var isSaving = false
    /// The number of saves that have begun.
    private var saveCount = 0

    init(hasFile: Bool, capacity: Int, suffixes: PublicSuffixList) {
        store = CookieStore(capacity: capacity, suffixes: suffixes, recordsRemovals: hasFile)
        changes = hasFile ? CookieChanges(generation: generation) : nil
    }

    mutating func cookiesToSend(to url: CookieURL, at date: Date) -> [Cookie] {
        store.cookiesToSend(to: url, at: date)
    }

    /// Performs the steps of RFC 6265bis section 5.7 that depend on the other cookies.
    mutating func insert(
        _ cookie: Cookie,
        isFromSecureOrigin: Bool,
        sentIn sent: CookieJar.Generation?,
        at date: Date
    ) -> CookieJar.Outcome {
        guard sent == nil || sent == generation else { return .refused(.cleared) }
        store.removeExpired(at: date)
        guard isFromSecureOrigin || !store.shadowsSecureCookie(cookie) else { return .refused(.shadowsSecureCookie) }
        let key = cookie.key
        var cookie = cookie
        cookie.updated = store.nextTimestamp(for: key, at: date)
        guard !cookie.isExpired(at: date) else {
            // Also when this jar does not have the cookie: other jars of the file may have it.
            store.remove(key, at: cookie.updated, isSecure: isFromSecureOrigin)
            changes?.insert(key, at: date)
            return .removed
        }
        let count = store.count
        if store.insert(cookie, isFromSecureOrigin: isFromSecureOrigin) {
            changes?.insert(key, at: date)
        } else {
            changes?.keys.remove(key)
        }
        if store.count > count {
            for evicted in store.evict(afterInsertionInto: cookie.domain) { recordEviction(of: evicted) }
        }
        return store[key].map { .stored($0) } ?? .removed
    }

    /// Removes the cookies, except those that were set again.
    mutating func remove(_ cookies: [Cookie], at date: Date) {
        for cookie in cookies where store[cookie.key]?.updated == cookie.updated {
            store.remove(cookie.key, at: store.nextTimestamp(for: cookie.key, at: date))
            changes?.insert(cookie.key, at: nil)
        }
    }

    /// Removes everything, from the file too with the next save.
    ///
    /// - Returns: The time of the logout, for the other jars of the file.
    mutating func clear(at date: Date) -> CookieTimestamp {
        let time = store.entries.map(\.cookie.updated).reduce(max(CookieTimestamp(date), store.cleared.next), max)
        clear(upTo: time)
        changes?.isLogout = true
        return time
    }

    /// Removes everything, because another jar of the file was cleared.
    mutating func clear(upTo time: CookieTimestamp) {
        store.clear(upTo: time)
        generation = generation.next
        changes = changes.map { _ in CookieChanges(generation: generation) }
    }

    /// Takes over a logout through another jar of the file, from before this jar was opened.
    mutating func applyEarlierLogout(at time: CookieTimestamp) { store.clear(upTo: time) }

    /// Removes an evicted cookie from the file, if it is there.
    private mutating func recordEviction(of evicted: CookieStore.Entry) {
        let key = evicted.cookie.key
        guard evicted.saved != nil else {
            changes?.keys.remove(key)
            return
        }
        store.remove(key, at: evicted.cookie.updated.next)
        changes?.insert(key, at: nil)
    }
}

// MARK: Saving

/// The changes of a jar since its last save.
struct CookieChanges {
    /// The generation in which the changes were made.
    let generation: CookieJar.Generation
    /// The cookies that were set or removed.
    var keys: Set<Cookie.Key> = []
    /// Whether the jar was cleared.
    var isLogout = false
    /// The latest date of a change, at which the save removes expired cookies.
    private(set) var date: Date?

    var isEmpty: Bool { !isLogout && keys.isEmpty }

    mutating func insert(_ key: Cookie.Key, at date: Date?) {
        keys.insert(key)
        self.date = [date, self.date].compactMap(\.self).max()
    }

    /// Adds earlier changes that could not be saved, unless a logout has ended them.
    mutating func formUnion(_ earlier: CookieChanges) {
        guard earlier.generation == generation else { return }
        keys.formUnion(earlier.keys)
        isLogout = isLogout || earlier.isLogout
        date = [date, earlier.date].compactMap(\.self).max()
    }
}

extension CookieJarState {
    /// What a save has to write.
    struct PendingSave {
        var changes: CookieChanges
        let store: CookieStore
        /// The checksum of the file that the changes apply to.
        let fileChecksum: UInt64?

        /// Whether all changes are removals of cookies that are already removed in the file.
        ///
        /// A server may remove a cookie with every response; saving each removal would wear out the disk.
        var repeatsSavedRemovals: Bool {
            !changes.isLogout && changes.keys.allSatisfy { store.removals[$0]?.isSaved == true }
        }
    }

    /// Returns whether the caller has to schedule a save; only once until ``endSchedule()``.
    mutating func beginSchedule() -> Bool {
        guard hasChanges, !isSaveScheduled else { return false }
        isSaveScheduled = true
        return true
    }

    mutating func endSchedule() { isSaveScheduled = false }

    var hasChanges: Bool { changes?.isEmpty == false }

    mutating func takeChanges() -> PendingSave {
        let none = CookieChanges(generation: generation)
        (isSaving, saveCount) = (true, saveCount + 1)
        defer { changes = changes.map { _ in none } }
        return PendingSave(changes: changes ?? none, store: store, fileChecksum: fileChecksum)
    }

    /// Puts back changes that were not saved, and returns whether a logout is among the unsaved changes.
    mutating func restore(_ pending: PendingSave?) -> Bool {
        isSaving = false
        if let pending { changes?.formUnion(pending.changes) }
        // A save needs no others; while none succeeds, a server must not make them grow.
        if let keys = changes?.keys { changes?.keys = keys.filter { store.lastUpdate(of: $0) != nil } }
        return changes?.isLogout == true
    }

    /// Takes over the cookies of the file, unless a logout has ended `generation`, in which the file was read.
    ///
    /// Without a `checksum`, the file was damaged, and its cookies have to be saved.
    mutating func load(
        _ file: CookieStore,
        checksum: UInt64?,
        readIn generation: CookieJar.Generation,
        at date: Date
    ) {
        guard generation == self.generation else { return }
        fileChecksum = checksum
        store = CookieMerge(local: store, unsaved: [], date: date) { _ in false }.merged(with: file)
        store.removeExpired(at: date)
        store.markAllSaved()
        guard checksum == nil else { return }
        for cookie in store.cookies { changes?.insert(cookie.key, at: date) }
    }

    /// Takes over the result of a save.
    ///
    /// Cookies that a logout has ended during the save are not restored. After a save of this jar's logout, the jar stays
    /// empty; the next save takes over what other jars have set since then.
    ///
    /// - Parameters:
    ///   - merged: The cookies in the file, and those that are in memory only.
    ///   - saved: The changes that were saved.
    ///   - checksum: The checksum of the file.
    mutating func commit(_ merged: CookieStore, after saved: CookieChanges, checksum: UInt64) {
        isSaving = false
        fileChecksum = saved.isLogout ? nil : checksum
        guard saved.generation == generation, !saved.isLogout else { return }
        for key in store.adopt(merged, changed: changes?.keys ?? []) {
            changes?.insert(key, at: nil)
        }
    }
}

// MARK: Reading again

extension CookieJarState {
    /// What the file is compared with when it is read between two saves.
    struct Refresh {
        let store: CookieStore
        /// The checksum of the file as the jar last read or wrote it.
        let fileChecksum: UInt64?
        fileprivate let saveCount: Int
    }

    /// Returns what the file is to be compared with; `nil` during a save, which takes over what others have changed.
    func beginRefresh() -> Refresh? {
        isSaving ? nil : Refresh(store: store, fileChecksum: fileChecksum, saveCount: saveCount)
    }

    /// Takes over what others have changed in the file; what was not saved yet remains.
    ///
    /// - Parameters:
    ///   - refresh: What ``beginRefresh()`` returned before the file was read.
    ///   - file: The cookies of the file.
    ///   - checksum: The checksum of the file.
    ///   - isMemoryOnly: Whether a cookie is not written to the file.
    ///   - date: The present.
    /// - Returns: False when a save has begun since, of which the file may be older.
    mutating func end(
        _ refresh: Refresh,
        with file: CookieStore,
        checksum: UInt64,
        isMemoryOnly: (Cookie) -> Bool,
        at date: Date
    ) -> Bool {
        guard !isSaving, saveCount == refresh.saveCount else { return false }
        var file = file
        fileChecksum = checksum
        // The file may still have what a logout of this jar has ended.
        if store.cleared > file.cleared { file.clear(upTo: store.cleared, present: CookieTimestamp(max(date, .now))) }
        var kept = Set(store.cookies.filter(isMemoryOnly).map(\.key)).union(changes?.keys ?? [])
        for (key, removal) in file.removals.all where !removal.isSecure && store[key]?.isSecure == true {
            // An insecure response has removed it elsewhere.
            file.discardRemoval(key)
            kept.insert(key)
            changes?.insert(key, at: nil)
        }
        for key in store.adopt(file, changed: kept) { changes?.insert(key, at: nil) }
        return true
    }
}
