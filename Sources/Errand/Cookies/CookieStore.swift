import Foundation

struct CookieStore {
    struct Entry {
        fileprivate(set) var cookie: Cookie
        let order: UInt64
        fileprivate(set) var lastUse: UInt64
        /// `nil` when the cookie was not saved yet.
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
    /// Counts expired cookies as well.
    var isEmpty: Bool { index.count == 0 }

    /// The oldest cookie first.
    var entries: [Entry] {
        index.entries.sorted { ($0.cookie.created, $0.order) < ($1.cookie.created, $1.order) }
    }

    var cookies: [Cookie] { entries.map(\.cookie) }

    subscript(key: Cookie.Key) -> Cookie? { index[key]?.cookie }

    func entry(_ key: Cookie.Key) -> Entry? { index[key] }

    /// Longer paths first, then older cookies (RFC 6265bis section 5.8.3).
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
    /// A cookie with the same key inherits the creation time; returns whether it has to be saved.
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

    /// A cookie with the same key inherits the creation time.
    mutating func markSaved(_ cookie: Cookie) {
        _ = index.update(cookie.key) { entry in
            entry.saved = cookie
            entry.cookie.created = cookie.created
        }
    }

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

    mutating func evict(afterInsertionInto domain: String) -> [Entry] {
        eviction.evict(from: &index, afterInsertionInto: domain)
    }
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

    /// A server that sends its cookie with every response extends the lifetime a little each time; saving each of these
    /// updates would wear out the disk.
    private func extendsLifetime(of saved: Cookie) -> Bool {
        guard let end = saved.expires, let expires = cookie.expires else { return cookie.expires != saved.expires }
        let lifetime = expires.timeIntervalSince1970 - Double(cookie.updated.microseconds) / 1e6
        return !(0...max(0, lifetime / 100)).contains(expires.timeIntervalSince(end))
    }
}
