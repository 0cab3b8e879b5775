import Foundation

/// Everything of a jar that changes.
struct CookieJarState {
    private(set) var store: CookieStore
    private(set) var generation = CookieJar.Generation()
    /// What the file has not learned yet; `nil` without a file.
    private var changes: CookieChanges?
    /// The checksum of the file as the jar last read or wrote it.
    private var agreed: UInt64?
    /// Kinds of problem that were reported and have not ended.
    private var reported: Set<CookieFileError.Kind> = []
    private var unreported: [CookieFileError] = []
    private var isSaveScheduled = false
    /// Whose error hook is called when the jar has none.
    weak var owner: (any CookieJarOwner)?

    init(hasFile: Bool, capacity: Int, suffixes: PublicSuffixRules) {
        store = CookieStore(capacity: capacity, suffixes: suffixes, remembersRemovals: hasFile)
        changes = hasFile ? CookieChanges(generation: generation) : nil
    }

    mutating func cookies(for origin: CookieOrigin, at date: Date) -> [Cookie] {
        store.use(for: origin, at: date)
    }

    /// The last steps of RFC 6265bis section 5.7, which look at the other cookies.
    mutating func keep(
        _ cookie: Cookie,
        isSecure: Bool,
        sentIn sent: CookieJar.Generation?,
        at date: Date
    ) -> CookieJar.Outcome {
        guard sent == nil || sent == generation else { return .refused(.cleared) }
        store.removeExpired(at: date)
        guard isSecure || !store.shadowsSecureCookie(cookie) else { return .refused(.shadowsSecureCookie) }
        let key = cookie.key
        var cookie = cookie
        cookie.updated = store.stamp(for: key, at: date)
        guard !cookie.isExpired(at: date) else {
            // Also when this jar does not know the cookie: others that share the file may.
            store.remove(key, at: cookie.updated, isSecure: isSecure)
            changes?.insert(key, at: date)
            return .removed
        }
        let count = store.count
        if store.put(cookie, isFromSecureOrigin: isSecure) {
            changes?.insert(key, at: date)
        } else {
            changes?.keys.remove(key)
        }
        if store.count > count { for evicted in store.evict(for: cookie.domain) { forget(evicted) } }
        return store[key].map { .stored($0) } ?? .removed
    }

    /// Removes the cookies, except those that have been set again.
    mutating func remove(_ cookies: [Cookie], at date: Date) {
        for cookie in cookies where store[cookie.key]?.updated == cookie.updated {
            store.remove(cookie.key, at: store.stamp(for: cookie.key, at: date))
            changes?.insert(cookie.key, at: nil)
        }
    }

    /// Removes everything, from the file too, and returns when that was.
    mutating func clear(at date: Date) -> CookieStamp {
        let stamp = store.entries.map(\.cookie.updated).reduce(max(CookieStamp(date), store.cleared.next), max)
        forget(upTo: stamp)
        changes?.isLogout = true
        return stamp
    }

    /// Removes everything, because another jar has cleared the file.
    mutating func forget(upTo stamp: CookieStamp) {
        store.clear(upTo: stamp)
        generation = generation.next
        changes = changes.map { _ in CookieChanges(generation: generation) }
    }

    /// Removes from the file what had to give way, if it is there.
    private mutating func forget(_ evicted: CookieStore.Entry) {
        let key = evicted.cookie.key
        guard evicted.saved != nil else {
            changes?.keys.remove(key)
            return
        }
        store.remove(key, at: evicted.cookie.updated.next)
        changes?.insert(key, at: nil)
    }
}

// MARK: The file

extension CookieJarState {
    /// What a save is to write.
    struct Unsaved {
        var changes: CookieChanges
        let store: CookieStore
        /// The checksum of the file that the changes follow.
        let agreed: UInt64?

        /// Whether the changes only repeat what the file has: that cookies are removed.
        ///
        /// A server may remove a cookie with every answer; writing each of them would wear the disk.
        var isRepetition: Bool {
            !changes.isLogout && changes.keys.allSatisfy { store.removals[$0]?.isSaved == true }
        }
    }

    /// Returns whether a save has to be scheduled now, once before ``endSchedule()``.
    mutating func beginsSchedule() -> Bool {
        guard hasChanges, !isSaveScheduled else { return false }
        isSaveScheduled = true
        return true
    }

    mutating func endSchedule() { isSaveScheduled = false }

    var hasChanges: Bool { changes?.isEmpty == false }

    mutating func takeChanges() -> Unsaved {
        let none = CookieChanges(generation: generation)
        defer { changes = changes.map { _ in none } }
        return Unsaved(changes: changes ?? none, store: store, agreed: agreed)
    }

    /// Puts back the changes that were not written, and returns whether a logout is among what is to be written.
    mutating func restore(_ unsaved: Unsaved?) -> Bool {
        if let unsaved { changes?.formUnion(unsaved.changes) }
        return changes?.isLogout == true
    }

    /// Fills the jar from its file, unless a logout has ended `read`, the generation before the file was read.
    ///
    /// Without a `checksum` the file is a damaged one, whose cookies have to be saved.
    mutating func load(
        _ file: CookieStore,
        checksum: UInt64?,
        readIn read: CookieJar.Generation,
        at date: Date
    ) {
        guard read == generation else { return }
        agreed = checksum
        store = CookieMerge(own: store, unsaved: [], date: date) { _ in false }.result(with: file)
        store.removeExpired(at: date)
        store.markSaved()
        guard checksum == nil else { return }
        for cookie in store.cookies { changes?.insert(cookie.key, at: date) }
    }

    /// Begins after a logout through another jar of the file, which the file may not have learned yet.
    mutating func begin(after logout: CookieStamp) { store.clear(upTo: logout) }

    /// Takes over what a save has made of the file, whose checksum is `written` now.
    ///
    /// What a logout has ended meanwhile does not come back. After a logout of its own, the jar stays empty, and the next
    /// save takes over what others have set since.
    mutating func agree(on merged: CookieStore, after changes: CookieChanges, written: UInt64) {
        agreed = changes.isLogout ? nil : written
        guard changes.generation == generation, !changes.isLogout else { return }
        for key in store.adopt(merged, changed: self.changes?.keys ?? []) {
            self.changes?.insert(key, at: nil)
        }
    }

    /// Notes the problems whose kind was not noted since it began; `ended` kinds may be noted again.
    mutating func note(_ problems: [CookieFileError], ended: Set<CookieFileError.Kind>) {
        reported.subtract(ended)
        let news = problems.filter { $0.kind == .setAside || reported.insert($0.kind).inserted }
        unreported.removeAll { problem in problem.kind != .setAside && news.contains { $0.kind == problem.kind } }
        unreported += news
    }

    var hasUnreported: Bool { !unreported.isEmpty }

    mutating func takeUnreported() -> [CookieFileError] {
        defer { unreported = [] }
        return unreported
    }
}
