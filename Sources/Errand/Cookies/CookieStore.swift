import Foundation

/// The cookies of a jar, by domain, and the removals of others: a look-up visits the host and the domains above it only.
struct CookieStore {
    /// A cookie and what the store remembers of it.
    struct Entry {
        fileprivate(set) var cookie: Cookie
        /// Whether the cookie came over a secure connection, as far as this jar knows.
        fileprivate(set) var isFromSecureOrigin: Bool
        /// Orders cookies of one creation time.
        let order: UInt64
        fileprivate(set) var lastUse: UInt64
        /// The cookie as the last save left it; `nil` before the first one.
        fileprivate(set) var saved: Cookie?
    }

    private(set) var domains: [String: [Entry]] = [:]
    /// The domains of each site; a site is a registrable domain, or a host that has none.
    private(set) var sites: [String: Set<String>] = [:]
    private(set) var removals: CookieRemovals
    /// Everything up to here has ended with a logout.
    private(set) var cleared = CookieStamp.never
    private(set) var count = 0
    /// How many cookies there may be.
    let capacity: Int
    let suffixes: PublicSuffixRules
    private var uses: UInt64 = 0
    /// No cookie expires before this.
    private var nextExpiry = Date.distantFuture

    /// An empty store, which remembers removals when others share its cookies.
    init(capacity: Int, suffixes: PublicSuffixRules, remembersRemovals: Bool) {
        self.capacity = capacity
        self.suffixes = suffixes
        removals = CookieRemovals(capacity: remembersRemovals ? capacity : 0)
    }

    /// All entries, the oldest cookie first.
    var entries: [Entry] {
        domains.values.joined().sorted { ($0.cookie.created, $0.order) < ($1.cookie.created, $1.order) }
    }

    /// All cookies, the oldest first.
    var cookies: [Cookie] { entries.map(\.cookie) }

    subscript(key: Cookie.Key) -> Cookie? { entry(key)?.cookie }

    func entry(_ key: Cookie.Key) -> Entry? { domains[key.domain]?.first { $0.cookie.has(key) } }

    /// When the cookie was set or removed; `nil` when the store knows of neither.
    func lastUpdate(of key: Cookie.Key) -> CookieStamp? { self[key]?.updated ?? removals[key]?.stamp }

    /// The stamp of an update that is made at `date`: later than each one that it follows.
    func stamp(for key: Cookie.Key, at date: Date) -> CookieStamp {
        max(CookieStamp(date), (lastUpdate(of: key) ?? .never).next, cleared.next)
    }

    /// The cookies to send to `origin`, longer paths first, then older ones (RFC 6265bis section 5.8.3).
    mutating func use(for origin: CookieOrigin, at date: Date) -> [Cookie] {
        uses += 1
        var found: [Entry] = []
        for domain in CookieHost.domains(of: origin.host) {
            guard let index = domains.index(forKey: domain) else { continue }
            for position in domains.values[index].indices {
                guard domains.values[index][position].cookie.isSent(to: origin, at: date) else { continue }
                domains.values[index][position].lastUse = uses
                found.append(domains.values[index][position])
            }
        }
        return found.sorted(by: Self.isSentBefore).map(\.cookie)
    }

    /// Whether an insecure cookie like this one would come before a secure one (RFC 6265bis section 5.7, step 16).
    func shadowsSecureCookie(_ cookie: Cookie) -> Bool {
        domains.contains { domain, entries in
            (CookieHost.matches(domain, domain: cookie.domain) || CookieHost.matches(cookie.domain, domain: domain))
                && entries.contains {
                    $0.cookie.isSecure && $0.cookie.nameBytes == cookie.nameBytes
                        && CookieOrigin.path(cookie.path, isAtOrBelow: $0.cookie.path)
                }
        }
    }

    private static func isSentBefore(_ one: Entry, _ other: Entry) -> Bool {
        let lengths = (one.cookie.path.utf8.count, other.cookie.path.utf8.count)
        if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
        return (one.cookie.created, one.order) < (other.cookie.created, other.order)
    }
}

// MARK: Changes

extension CookieStore {
    /// Puts the cookie in the place of one with the same key, whose creation time it inherits.
    ///
    /// - Returns: Whether the file has to learn of it.
    @discardableResult
    mutating func put(_ cookie: Cookie, isFromSecureOrigin: Bool = true) -> Bool {
        uses += 1
        nextExpiry = min(nextExpiry, cookie.expires ?? nextExpiry)
        let key = cookie.key
        removals.remove(key)
        guard let position = domains[cookie.domain]?.firstIndex(where: { $0.cookie.has(key) }) else {
            if domains[cookie.domain] == nil { sites[site(of: cookie.domain), default: []].insert(cookie.domain) }
            let entry = Entry(cookie: cookie, isFromSecureOrigin: isFromSecureOrigin, order: uses, lastUse: uses)
            domains[cookie.domain, default: []].append(entry)
            count += 1
            return true
        }
        domains[cookie.domain]?[position].replace(with: cookie, isFromSecureOrigin: isFromSecureOrigin, number: uses)
        return domains[cookie.domain]?[position].isUnsaved == true
    }

    /// Notes that the file, after a save, has `cookie`, and returns whether the store has something else.
    @discardableResult
    mutating func markSaved(_ cookie: Cookie) -> Bool {
        let key = cookie.key
        guard let position = domains[cookie.domain]?.firstIndex(where: { $0.cookie.has(key) }) else { return false }
        domains[cookie.domain]?[position].saved = cookie
        domains[cookie.domain]?[position].cookie.created = cookie.created
        return domains[cookie.domain]?[position].isUnsaved == true
    }

    /// Notes that the file has all of this.
    mutating func markSaved() {
        for cookie in cookies { markSaved(cookie) }
        for key in removals.all.keys { removals.markSaved(key) }
    }

    /// Removes the cookie, or notes that others have to.
    mutating func remove(_ key: Cookie.Key, at stamp: CookieStamp, isSecure: Bool = true) {
        drop(key)
        removals.put(.init(stamp: stamp, isSecure: isSecure, site: site(of: key.domain)), for: key)
    }

    mutating func markSavedRemoval(of key: Cookie.Key) { removals.markSaved(key) }

    mutating func forgetRemoval(of key: Cookie.Key) { removals.remove(key) }

    /// Removes the cookie without a trace.
    mutating func drop(_ key: Cookie.Key) {
        guard let position = domains[key.domain]?.firstIndex(where: { $0.cookie.has(key) }) else { return }
        removeEntry(at: position, of: key.domain)
    }

    @discardableResult
    mutating func removeEntry(at position: Int, of domain: String) -> Entry {
        let entry = domains[domain, default: []].remove(at: position)
        count -= 1
        if domains[domain]?.isEmpty == true {
            let site = site(of: domain)
            domains[domain] = nil
            sites[site]?.remove(domain)
            if sites[site]?.isEmpty == true { sites[site] = nil }
        }
        return entry
    }

    /// Removes what has expired at `date`; an older update from elsewhere does not bring it back.
    mutating func removeExpired(at date: Date) {
        guard date >= nextExpiry else { return }
        let all = domains.values.joined().map(\.cookie)
        for cookie in all where cookie.isExpired(at: date) { remove(cookie.key, at: cookie.updated) }
        nextExpiry = domains.values.joined().compactMap(\.cookie.expires).min() ?? .distantFuture
    }

    mutating func removeOldRemovals(at date: Date) { removals.removeOld(at: date) }

    /// Ends what was set or removed up to `stamp`, and what seems to come from after the `present`.
    ///
    /// The clock has been set back since then, so nothing shows that it came after the logout.
    mutating func clear(upTo stamp: CookieStamp, present: CookieStamp = .never) {
        let kept = { (update: CookieStamp) in update > stamp && update <= present }
        for cookie in cookies where !kept(cookie.updated) { drop(cookie.key) }
        for (key, removal) in removals.all where !kept(removal.stamp) { removals.remove(key) }
        cleared = max(cleared, stamp)
    }
}

extension CookieStore.Entry {
    fileprivate mutating func replace(with new: Cookie, isFromSecureOrigin: Bool, number: UInt64) {
        let created = cookie.created
        cookie = new
        cookie.created = created
        self.isFromSecureOrigin = isFromSecureOrigin
        lastUse = number
    }

    /// Whether the file has to learn of the cookie.
    fileprivate var isUnsaved: Bool {
        guard let saved, saved.hasSameContent(as: cookie) else { return true }
        return movesEnd(of: saved)
    }

    /// Whether the end of the cookie moves by more than a hundredth of its life.
    ///
    /// A server that sends its cookie with every answer moves the end by moments each time; writing each of them would
    /// wear the disk.
    private func movesEnd(of saved: Cookie) -> Bool {
        guard let end = saved.expires, let expires = cookie.expires else { return cookie.expires != saved.expires }
        let life = expires.timeIntervalSince1970 - Double(cookie.updated.microseconds) / 1e6
        return !(0...max(0, life / 100)).contains(expires.timeIntervalSince(end))
    }
}

extension Cookie {
    fileprivate func isSent(to origin: CookieOrigin, at date: Date) -> Bool {
        (!isHostOnly || domain == origin.host) && (!isSecure || origin.isSecure) && !isExpired(at: date)
            && origin.matches(path: path)
    }
}
