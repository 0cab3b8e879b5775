import Foundation

struct CookieStore {
    struct Entry {
        fileprivate(set) var cookie: Cookie
        /// Orders cookies with the same creation time.
        let order: UInt64
        fileprivate(set) var lastUse: UInt64
        /// The cookie as it is in the file; `nil` when it was not saved yet.
        fileprivate(set) var saved: Cookie?
    }

    private var index: CookieIndex
    private let eviction: CookieEviction
    /// Counts insertions and uses, in place of a clock.
    private var useCount: UInt64 = 0
    /// No cookie expires before this date.
    private var nextExpiry = Date.distantFuture

    init(capacity: Int, suffixes: PublicSuffixList) {
        index = CookieIndex(suffixes: suffixes)
        eviction = CookieEviction(capacity: capacity)
    }

    var capacity: Int { eviction.capacity }
    var suffixes: PublicSuffixList { index.suffixes }
    /// Whether there are no cookies, expired ones included.
    var isEmpty: Bool { index.count == 0 }

    /// All entries, the oldest cookie first.
    var entries: [Entry] {
        index.entries.sorted { ($0.cookie.created, $0.order) < ($1.cookie.created, $1.order) }
    }

    var cookies: [Cookie] { entries.map(\.cookie) }

    subscript(key: Cookie.Key) -> Cookie? { index[key]?.cookie }

    func entry(_ key: Cookie.Key) -> Entry? { index[key] }

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
        index.contains { cookie.shadows($0.cookie) }
    }
}

// MARK: Changes

extension CookieStore {
    /// Inserts the cookie, or replaces the one with the same key, whose creation time it inherits.
    ///
    /// - Returns: Whether the cookie has to be saved.
    @discardableResult
    mutating func insert(_ cookie: Cookie) -> Bool {
        useCount += 1
        let use = useCount
        nextExpiry = min(nextExpiry, cookie.expires ?? nextExpiry)
        let isUnsaved = index.update(cookie.key) { entry in
            let created = entry.cookie.created
            entry.cookie = cookie
            entry.cookie.created = created
            entry.lastUse = use
            return entry.isUnsaved
        }
        if let isUnsaved { return isUnsaved }
        index.insert(Entry(cookie: cookie, order: use, lastUse: use))
        return true
    }

    /// Records that the file has `cookie`, whose creation time a cookie with the same key inherits.
    mutating func markSaved(_ cookie: Cookie) {
        _ = index.update(cookie.key) { entry in
            entry.saved = cookie
            entry.cookie.created = cookie.created
        }
    }

    /// Records that the file does not have the cookie any more.
    mutating func markUnsaved(_ key: Cookie.Key) {
        _ = index.update(key) { $0.saved = nil }
    }

    mutating func remove(_ key: Cookie.Key) { index.remove(key) }

    mutating func removeAll(where isUnwanted: (Cookie) -> Bool) {
        for entry in index.entries where isUnwanted(entry.cookie) { index.remove(entry.cookie.key) }
    }

    mutating func removeExpired(at date: Date) {
        guard date >= nextExpiry else { return }
        removeAll { $0.isExpired(at: date) }
        nextExpiry = index.entries.compactMap(\.cookie.expires).min() ?? .distantFuture
    }

    /// Removes cookies of too crowded sites after `domain` has got a new one, and returns what was removed.
    mutating func evict(afterInsertionInto domain: String) -> [Entry] {
        eviction.evict(from: &index, afterInsertionInto: domain)
    }

    /// Removes cookies of too crowded sites after any number of insertions.
    mutating func evict() { eviction.evict(from: &index) }
}

extension CookieStore.Entry {
    fileprivate func isSent(before other: Self) -> Bool {
        let lengths = (cookie.path.utf8.count, other.cookie.path.utf8.count)
        if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
        return (cookie.created, order) < (other.cookie.created, other.order)
    }

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
