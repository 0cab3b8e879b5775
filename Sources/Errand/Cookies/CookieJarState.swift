import Foundation

/// Everything of a jar that changes.
struct CookieJarState {
    private(set) var store = CookieStore()
    private(set) var generation = CookieJar.Generation()
    /// What the file does not know yet; `nil` without a file.
    private var changes: CookieChanges?
    /// The checksum of the file as the jar last read or wrote it.
    private var agreed: UInt64?
    /// Kinds of problem that were reported and have not ended.
    private var reported: Set<CookieFileError.Kind> = []
    private var isSaveScheduled = false

    init(hasFile: Bool) {
        changes = hasFile ? CookieChanges() : nil
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
        guard isSecure || !store.shadowsSecureCookie(cookie) else { return .refused(.shadowsSecureCookie) }
        store.removeExpired(at: date)
        if cookie.isExpired(at: date) {
            remove(cookie.key)
            return .removed
        }
        let effect = store.put(cookie)
        if effect != .none { changes?.put(cookie, isNew: effect == .added, at: date) }
        for evicted in store.evict(for: cookie.domain) { changes?.remove(evicted.key) }
        return store[cookie.key].map { .stored($0) } ?? .removed
    }

    mutating func remove(_ cookies: [Cookie]) {
        for cookie in cookies where store[cookie.key] == cookie { remove(cookie.key) }
    }

    mutating func clear() {
        store = CookieStore()
        changes?.clear()
        generation = generation.next
    }

    private mutating func remove(_ key: Cookie.Key) {
        guard store[key] != nil else { return }
        store.remove(key)
        changes?.remove(key)
    }
}

extension CookieJarState {
    /// Whether a save has to be scheduled now, which is said once before ``endSchedule()``.
    mutating func beginsSchedule() -> Bool {
        guard let changes, !changes.isEmpty, !isSaveScheduled else { return false }
        isSaveScheduled = true
        return true
    }

    mutating func endSchedule() { isSaveScheduled = false }

    /// Takes the changes that the next save is to write, and the checksum of the file that they follow.
    mutating func takeChanges() -> (changes: CookieChanges, agreed: UInt64?) {
        defer { changes = changes.map { _ in CookieChanges() } }
        return (changes ?? CookieChanges(), agreed)
    }

    /// Puts back the changes that could not be written.
    mutating func restore(_ unwritten: CookieChanges) {
        changes = changes?.following(unwritten)
    }

    /// Fills the jar from its file; salvaged cookies count as changes, because their file is no longer in its place.
    mutating func load(_ cookies: [Cookie], from file: CookieFile.Found, at date: Date) {
        agreed = file.checksum
        store = CookieStore(cookies.filter { !$0.isExpired(at: date) })
        guard file.damage != nil else { return }
        for cookie in store.cookies { changes?.put(cookie, isNew: false, at: date) }
    }

    /// Takes over what another process did to the file, whose checksum was `read` before the save and is `written` now.
    ///
    /// Cookies that changed since the save began, and those that live in memory alone, stay as they are.
    mutating func agree(on cookies: [Cookie], read: UInt64?, written: UInt64, livesInMemory: (Cookie) -> Bool) {
        defer { agreed = written }
        guard agreed != read else { return }
        let keys = Set(cookies.map(\.key))
        for cookie in store.cookies where !keys.contains(cookie.key) && !isOwn(cookie.key) && !livesInMemory(cookie) {
            store.remove(cookie.key)
        }
        for cookie in cookies where !isOwn(cookie.key) && isNews(cookie) {
            store.put(cookie)
            _ = store.evict(for: cookie.domain)
        }
    }

    /// Whether the file says something of the cookie that the jar does not know; the file counts in whole seconds.
    private func isNews(_ cookie: Cookie) -> Bool {
        guard let known = store[cookie.key], known.hasSameContent(as: cookie) else { return true }
        guard let expires = known.expires, let other = cookie.expires else { return known.expires != cookie.expires }
        return abs(expires.timeIntervalSince(other)) > 1
    }

    private func isOwn(_ key: Cookie.Key) -> Bool {
        changes.map { $0.isClear || $0.contains(key) } ?? true
    }

    /// Those of the problems whose kind was not reported since it began; `ended` kinds may be reported again.
    mutating func unreported(_ problems: [CookieFileError], ended: Set<CookieFileError.Kind>) -> [CookieFileError] {
        reported.subtract(ended)
        return problems.filter { $0.kind == .setAside || reported.insert($0.kind).inserted }
    }
}
