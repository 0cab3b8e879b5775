import Foundation

/// Cookies by domain, and the domains by site.
///
/// A site is a registrable domain with all its subdomains, or a host without one.
struct CookieStore {
    struct Entry {
        fileprivate(set) var cookie: Cookie
        let order: UInt64
        fileprivate(set) var lastUse: UInt64
        /// `nil` when the cookie was not saved yet.
        fileprivate(set) var saved: Cookie?
    }

    let capacity: Int
    let suffixes: PublicSuffixList
    private(set) var count = 0
    private var entriesByDomain: [String: [Entry]] = [:]
    private var domainsBySite: [String: Set<String>] = [:]
    /// Counts insertions and uses, in place of a clock.
    private var useCount: UInt64 = 0
    /// No cookie expires before this date.
    private var nextExpiry = Date.distantFuture

    init(capacity: Int, suffixes: PublicSuffixList) {
        (self.capacity, self.suffixes) = (capacity, suffixes)
    }

    /// Counts expired cookies as well.
    var isEmpty: Bool { count == 0 }

    /// In no order.
    var entries: [Entry] { Array(entriesByDomain.values.joined()) }

    /// The oldest one first.
    var cookies: [Cookie] {
        entries.sorted { ($0.cookie.created, $0.order) < ($1.cookie.created, $1.order) }.map(\.cookie)
    }

    subscript(key: Cookie.Key) -> Cookie? { entry(key)?.cookie }

    func entry(_ key: Cookie.Key) -> Entry? { entriesByDomain[key.domain]?.first { $0.cookie.hasKey(key) } }

    /// Longer paths first, then older cookies (RFC 6265bis section 5.8.3).
    mutating func cookiesToSend(to url: CookieURL, at date: Date) -> [Cookie] {
        useCount += 1
        let use = useCount
        var found: [Entry] = []
        for domain in CookieDomain.candidates(for: url.host) {
            guard let place = entriesByDomain.index(forKey: domain) else { continue }
            // In place, because a copy of the entries would be made.
            for position in entriesByDomain.values[place].indices
            where entriesByDomain.values[place][position].cookie.isSent(to: url, at: date) {
                entriesByDomain.values[place][position].lastUse = use
                found.append(entriesByDomain.values[place][position])
            }
        }
        return found.sorted { $0.isSent(before: $1) }.map(\.cookie)
    }

    /// Whether an insecure cookie like this one would be sent in the place of a secure one (RFC 6265bis section 5.7).
    func shadowsSecureCookie(_ cookie: Cookie) -> Bool {
        entriesByDomain.values.contains { $0.contains { cookie.shadows($0.cookie) } }
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
        let isUnsaved = update(cookie.key) { entry in
            let created = entry.cookie.created
            entry.cookie = cookie
            entry.cookie.created = created
            entry.lastUse = use
            return entry.isUnsaved
        }
        if let isUnsaved { return isUnsaved }
        let domain = cookie.domain
        if entriesByDomain[domain] == nil { domainsBySite[site(of: domain), default: []].insert(domain) }
        entriesByDomain[domain, default: []].append(Entry(cookie: cookie, order: use, lastUse: use))
        count += 1
        return true
    }

    /// A cookie with the same key inherits the creation time.
    mutating func markSaved(_ cookie: Cookie) {
        _ = update(cookie.key) { entry in
            entry.saved = cookie
            entry.cookie.created = cookie.created
        }
    }

    mutating func markUnsaved(_ key: Cookie.Key) {
        _ = update(key) { $0.saved = nil }
    }

    mutating func removeAll(where isUnwanted: (Cookie) -> Bool) {
        for entry in entries where isUnwanted(entry.cookie) { remove(entry.cookie.key) }
    }

    mutating func removeExpired(at date: Date) {
        guard date >= nextExpiry else { return }
        removeAll { $0.isExpired(at: date) }
        nextExpiry = entries.compactMap(\.cookie.expires).min() ?? .distantFuture
    }
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

// MARK: By domain and site

extension CookieStore {
    mutating func update<Result>(_ key: Cookie.Key, _ body: (inout Entry) -> Result) -> Result? {
        guard let place = entriesByDomain.index(forKey: key.domain),
            let position = entriesByDomain.values[place].firstIndex(where: { $0.cookie.hasKey(key) })
        else { return nil }
        return body(&entriesByDomain.values[place][position])
    }

    mutating func remove(_ key: Cookie.Key) {
        guard let position = entriesByDomain[key.domain]?.firstIndex(where: { $0.cookie.hasKey(key) }) else { return }
        entriesByDomain[key.domain]?.remove(at: position)
        count -= 1
        guard entriesByDomain[key.domain]?.isEmpty == true else { return }
        let site = site(of: key.domain)
        entriesByDomain[key.domain] = nil
        domainsBySite[site]?.remove(key.domain)
        if domainsBySite[site]?.isEmpty == true { domainsBySite[site] = nil }
    }

    var sites: [String] { Array(domainsBySite.keys) }

    /// An address, or a host that is a public suffix, is a site.
    func site(of domain: String) -> String {
        var name = domain[...]
        while name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        let host = String(name)
        guard !CookieDomain.isAddress(host) else { return host }
        return suffixes.registrableDomain(of: host) ?? host
    }

    func count(ofSite site: String) -> Int {
        domainsBySite[site, default: []].reduce(0) { $0 + (entriesByDomain[$1]?.count ?? 0) }
    }

    func entries(ofSite site: String) -> some Sequence<Entry> {
        domainsBySite[site, default: []].lazy.flatMap { entriesByDomain[$0] ?? [] }
    }
}

// MARK: Eviction

/// Removes cookies when a site or the jar has too many (RFC 6265bis section 5.7).
///
/// Of a site with many cookies, insecure ones are removed before secure ones; otherwise, those that were unused for longest.
extension CookieStore {
    /// Counted by registrable domain: counted by host or `Domain`, one server with many subdomains could fill the jar.
    static let maximumPerSite = 180
    /// When the jar is full, sites with more cookies than this lose cookies before other sites do.
    private static let fairShare = 50

    /// Returns what was removed.
    mutating func evict(afterInsertionInto domain: String) -> [Entry] {
        var evicted: [Entry] = []
        let site = site(of: domain)
        while count(ofSite: site) > Self.maximumPerSite, let entry = leastUseful(ofSite: site) {
            remove(entry.cookie.key)
            evicted.append(entry)
        }
        while count > capacity, let entry = leastUseful() {
            remove(entry.cookie.key)
            evicted.append(entry)
        }
        return evicted
    }

    mutating func evict() {
        guard count > min(capacity, Self.maximumPerSite) else { return }
        let entries = entries.sorted { $0.isLessUseful(than: $1) }
        remove(entries) { $0.count(ofSite: $1) > Self.maximumPerSite }
        remove(entries) { $0.count > $0.capacity && $0.count(ofSite: $1) > Self.fairShare }
        guard count > capacity else { return }
        remove(entries.sorted { $0.lastUse < $1.lastUse }) { store, _ in store.count > store.capacity }
    }

    /// Removes entries, in order, for whose site `hasTooMany` returns `true` at that time.
    private mutating func remove(_ entries: [Entry], while hasTooMany: (CookieStore, _ site: String) -> Bool) {
        for entry in entries where hasTooMany(self, site(of: entry.cookie.domain)) { remove(entry.cookie.key) }
    }

    /// Of the sites that exceed the fair share, if there are any, otherwise of all sites.
    private func leastUseful() -> Entry? {
        let crowded = sites.filter { count(ofSite: $0) > Self.fairShare }
        guard !crowded.isEmpty else { return entries.min { $0.lastUse < $1.lastUse } }
        return crowded.compactMap { leastUseful(ofSite: $0) }.min { $0.isLessUseful(than: $1) }
    }

    private func leastUseful(ofSite site: String) -> Entry? {
        entries(ofSite: site).min { $0.isLessUseful(than: $1) }
    }
}

extension CookieStore.Entry {
    fileprivate func isLessUseful(than other: Self) -> Bool {
        cookie.isSecure == other.cookie.isSecure ? lastUse < other.lastUse : other.cookie.isSecure
    }
}
