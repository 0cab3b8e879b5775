import Foundation

/// The cookies of a jar, and the cookies that were removed recently.
struct CookieStore {
    /// A stored cookie with its administrative data.
    struct Entry {
        fileprivate(set) var cookie: Cookie
        /// Whether the cookie was received over a secure connection, as far as this jar knows.
        fileprivate(set) var isFromSecureOrigin: Bool
        /// Orders cookies with the same creation time.
        let order: UInt64
        fileprivate(set) var lastUse: UInt64
        /// The cookie as it is in the file; `nil` when it was not saved yet.
        fileprivate(set) var saved: Cookie?
    }

    private var index: CookieIndex
    private(set) var removals: CookieRemovals
    /// The time of the last logout, which has ended everything up to then.
    private(set) var cleared = CookieTimestamp.never
    private let eviction: CookieEviction
    /// Counts insertions and uses, in place of a clock.
    private var useCount: UInt64 = 0
    /// No cookie expires before this date.
    private var nextExpiry = Date.distantFuture

    /// Creates an empty store; a store that shares its cookies through a file records removals.
    init(capacity: Int, suffixes: PublicSuffixList, recordsRemovals: Bool) {
        index = CookieIndex(suffixes: suffixes)
        eviction = CookieEviction(capacity: capacity)
        removals = CookieRemovals(capacity: recordsRemovals ? capacity : 0)
    }

    var count: Int { index.count }
    /// Whether there are no cookies, expired ones included.
    var isEmpty: Bool { count == 0 }

    /// All entries, the oldest cookie first.
    var entries: [Entry] {
        index.entries.sorted { ($0.cookie.created, $0.order) < ($1.cookie.created, $1.order) }
    }

    /// All cookies, the oldest first.
    var cookies: [Cookie] { entries.map(\.cookie) }

    subscript(key: Cookie.Key) -> Cookie? { index[key]?.cookie }

    func entry(_ key: Cookie.Key) -> Entry? { index[key] }

    /// When the cookie was last set or removed; `nil` when the store has neither a cookie nor a removal.
    func lastUpdate(of key: Cookie.Key) -> CookieTimestamp? { self[key]?.updated ?? removals[key]?.time }

    /// The timestamp of an update at `date`, which is later than every update that it follows.
    func nextTimestamp(for key: Cookie.Key, at date: Date) -> CookieTimestamp {
        max(CookieTimestamp(date), (lastUpdate(of: key) ?? .never).next, cleared.next)
    }

    /// The cookies to send to `url`, longer paths first, then older cookies (RFC 6265bis section 5.8.3).
    mutating func cookiesToSend(to url: CookieURL, at date: Date) -> [Cookie] {
        useCount += 1
        let use = useCount
        var found: [Entry] = []
        for domain in CookieDomain.candidates(for: url.host) {
            index.updateEntries(of: domain) { entry in
                guard entry.cookie.isSent(to: url, at: date) else { return }
                entry.lastUse = use
                found.append(entry)
            }
        }
        return found.sorted { $0.isSent(before: $1) }.map(\.cookie)
    }

    /// Whether an insecure cookie like this one would be sent in the place of a secure one (RFC 6265bis section 5.7).
    func shadowsSecureCookie(_ cookie: Cookie) -> Bool {
        index.containsDomain { domain, entries in
            (CookieDomain.matches(domain, domain: cookie.domain) || CookieDomain.matches(cookie.domain, domain: domain))
                && entries.contains { cookie.shadows($0.cookie) }
        }
    }
}

// MARK: Changes

extension CookieStore {
    /// Inserts the cookie, or replaces the one with the same key, whose creation time it inherits.
    ///
    /// - Returns: Whether the cookie has to be saved.
    @discardableResult
    mutating func insert(_ cookie: Cookie, isFromSecureOrigin: Bool = true) -> Bool {
        useCount += 1
        let use = useCount
        nextExpiry = min(nextExpiry, cookie.expires ?? nextExpiry)
        let key = cookie.key
        removals.remove(key)
        let isUnsaved = index.update(key) { entry in
            entry.replace(with: cookie, isFromSecureOrigin: isFromSecureOrigin, use: use)
            return entry.isUnsaved
        }
        if let isUnsaved { return isUnsaved }
        index.insert(Entry(cookie: cookie, isFromSecureOrigin: isFromSecureOrigin, order: use, lastUse: use))
        return true
    }

    /// Records that the file has `cookie`, and returns whether the store has a different one of the same key.
    @discardableResult
    mutating func markSaved(_ cookie: Cookie) -> Bool {
        index.update(cookie.key) { entry in
            entry.saved = cookie
            entry.cookie.created = cookie.created
            return entry.isUnsaved
        } ?? false
    }

    /// Records that the file has all cookies and removals.
    mutating func markAllSaved() {
        for cookie in cookies { markSaved(cookie) }
        for key in removals.all.keys { removals.markSaved(key) }
    }

    /// Removes the cookie and records the removal, also when the store has no such cookie.
    mutating func remove(_ key: Cookie.Key, at time: CookieTimestamp, isSecure: Bool = true) {
        index.remove(key)
        removals.insert(.init(time: time, isSecure: isSecure, site: index.site(of: key.domain)), for: key)
    }

    mutating func markRemovalSaved(_ key: Cookie.Key) { removals.markSaved(key) }

    mutating func discardRemoval(_ key: Cookie.Key) { removals.remove(key) }

    /// Removes the cookie without recording a removal.
    mutating func discard(_ key: Cookie.Key) { index.remove(key) }

    /// Removes cookies of too crowded sites after `domain` has got a new one, and returns what was removed.
    mutating func evict(afterInsertionInto domain: String) -> [Entry] {
        eviction.evict(from: &index, afterInsertionInto: domain)
    }

    /// Removes cookies of too crowded sites after any number of insertions.
    mutating func evict() { eviction.evict(from: &index) }

    /// Removes the cookies that are expired at `date` and records their removal.
    mutating func removeExpired(at date: Date) {
        guard date >= nextExpiry else { return }
        let cookies = index.entries.map(\.cookie)
        for cookie in cookies where cookie.isExpired(at: date) { remove(cookie.key, at: cookie.updated) }
        nextExpiry = index.entries.compactMap(\.cookie.expires).min() ?? .distantFuture
    }

    mutating func discardOldRemovals(at date: Date) { removals.removeOld(at: date) }

    /// Discards what was set or removed up to `time`, the time of a logout, or after `present`.
    ///
    /// An update from after `present` was made before the clock was set back, so it may be older than the logout.
    mutating func clear(upTo time: CookieTimestamp, present: CookieTimestamp = .never) {
        let isKept = { (update: CookieTimestamp) in update > time && update <= present }
        for cookie in cookies where !isKept(cookie.updated) { discard(cookie.key) }
        for (key, removal) in removals.all where !isKept(removal.time) { removals.remove(key) }
        cleared = max(cleared, time)
    }
}

extension CookieStore.Entry {
    fileprivate func isSent(before other: Self) -> Bool {
        let lengths = (cookie.path.utf8.count, other.cookie.path.utf8.count)
        if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
        return (cookie.created, order) < (other.cookie.created, other.order)
    }

    fileprivate mutating func replace(with new: Cookie, isFromSecureOrigin: Bool, use: UInt64) {
        let created = cookie.created
        cookie = new
        cookie.created = created
        self.isFromSecureOrigin = isFromSecureOrigin
        lastUse = use
    }

    /// Whether the cookie has to be saved.
    fileprivate var isUnsaved: Bool {
        guard let saved, saved.hasSameContent(as: cookie) else { return true }
        return extendsLifetime(of: saved)
    }

    /// Whether the expiry time differs by more than a hundredth of the lifetime.
    ///
    /// A server that sends its cookie with every response extends the lifetime a little each time; saving each of these
    /// updates would wear out the disk.
    private func extendsLifetime(of saved: Cookie) -> Bool {
        guard let end = saved.expires, let expires = cookie.expires else { return cookie.expires != saved.expires }
        let lifetime = expires.timeIntervalSince1970 - Double(cookie.updated.microseconds) / 1e6
        return !(0...max(0, lifetime / 100)).contains(expires.timeIntervalSince(end))
    }
}
