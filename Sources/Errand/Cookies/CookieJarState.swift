import Foundation

/// Everything of a jar that changes.
struct CookieJarState {
    private(set) var store: CookieStore
    private(set) var generation = CookieJar.Generation()
    /// What the file does not know yet; `nil` without a file.
    private var changes: CookieChanges?
    /// The checksum of the file as the jar last read or wrote it.
    private var agreed: UInt64?
    /// Kinds of problem that were reported and have not ended.
    private var reported: Set<CookieFileError.Kind> = []
    private var untold: [CookieFileError] = []
    private var isSaveScheduled = false
    /// Whether the file may still hold what a logout of this jar ended.
    private(set) var hasUnwrittenLogout = false
    /// Whose error hook hears of problems when the jar has none.
    weak var owner: (any CookieJarOwner)?

    init(hasFile: Bool, capacity: Int) {
        store = CookieStore(capacity: capacity)
        changes = hasFile ? CookieChanges(in: generation) : nil
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
        forget()
        changes?.clear()
        hasUnwrittenLogout = true
    }

    /// Hears that another jar has cleared the file.
    mutating func forget() {
        store = CookieStore(capacity: store.capacity)
        generation = generation.next
        changes = changes.map { _ in CookieChanges(in: generation) }
        hasUnwrittenLogout = false
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
        guard hasChanges, !isSaveScheduled else { return false }
        isSaveScheduled = true
        return true
    }

    mutating func endSchedule() { isSaveScheduled = false }

    var hasChanges: Bool { changes?.isEmpty == false }

    /// Takes the changes that a save is to write, and the checksum of the file that they follow.
    mutating func takeChanges() -> (changes: CookieChanges, agreed: UInt64?) {
        let none = CookieChanges(in: generation)
        defer { changes = changes.map { _ in none } }
        return (changes ?? none, agreed)
    }

    /// Puts back the changes that could not be written, and returns whether a logout is among what is to be written.
    mutating func restore(_ unwritten: CookieChanges?) -> Bool {
        if let unwritten { changes = changes?.following(unwritten) }
        return changes?.isClear == true
    }

    /// Fills the jar from its file, unless a logout has ended `read`, the generation before the file was read.
    ///
    /// Salvaged cookies count as changes, because their file is no longer in its place.
    mutating func load(
        _ cookies: [Cookie],
        from file: CookieFile.Found,
        readIn read: CookieJar.Generation,
        at date: Date
    ) {
        guard read == generation else { return }
        agreed = file.checksum
        store = CookieStore(cookies.filter { !$0.isExpired(at: date) }, capacity: store.capacity)
        guard file.damage != nil else { return }
        for cookie in store.cookies { changes?.put(cookie, isNew: false, at: date) }
    }

    /// Takes over what another process did to the file, whose checksum was `read` before the save and is `written` now.
    ///
    /// Cookies that changed since the save of `changes` began, and those that live in memory alone, stay as they are. What
    /// a logout has ended meanwhile does not come back.
    mutating func agree(
        on cookies: [Cookie],
        after changes: CookieChanges,
        read: UInt64?,
        written: UInt64,
        livesInMemory: (Cookie) -> Bool
    ) {
        defer { agreed = written }
        guard changes.generation == generation else { return }
        hasUnwrittenLogout = false
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

    /// Notes the problems whose kind was not noted since it began; `ended` kinds may be noted again.
    mutating func note(_ problems: [CookieFileError], ended: Set<CookieFileError.Kind>) {
        reported.subtract(ended)
        let news = problems.filter { $0.kind == .setAside || reported.insert($0.kind).inserted }
        untold.removeAll { problem in problem.kind != .setAside && news.contains { $0.kind == problem.kind } }
        untold += news
    }

    var hasUntold: Bool { !untold.isEmpty }

    mutating func takeUntold() -> [CookieFileError] {
        defer { untold = [] }
        return untold
    }
}
