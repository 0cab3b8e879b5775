import Foundation

/// The cookies of a jar, by domain: a look-up visits the host and the domains above it, whatever else there is.
struct CookieStore {
    /// What putting a cookie meant.
    enum Effect {
        case added
        case changed
        /// Nothing that the file would have to hear of.
        case none
    }

    private(set) var domains: [String: [Entry]] = [:]
    private(set) var count = 0
    /// How many cookies there may be.
    let capacity: Int
    private var uses: UInt64 = 0
    /// No cookie expires before this.
    private var nextExpiry = Date.distantFuture

    init(_ cookies: [Cookie] = [], capacity: Int) {
        self.capacity = capacity
        for cookie in cookies {
            put(cookie)
            _ = evict(for: cookie.domain)
        }
    }

    /// All cookies, the oldest first.
    var cookies: [Cookie] {
        domains.values.joined()
            .sorted { ($0.cookie.created, $0.order) < ($1.cookie.created, $1.order) }
            .map(\.cookie)
    }

    subscript(key: Cookie.Key) -> Cookie? {
        domains[key.domain]?.first { $0.cookie.has(key) }?.cookie
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

    /// Whether an insecure cookie like this one would stand before a secure one (RFC 6265bis section 5.7, step 16).
    func shadowsSecureCookie(_ cookie: Cookie) -> Bool {
        domains.contains { domain, entries in
            (CookieHost.matches(domain, domain: cookie.domain) || CookieHost.matches(cookie.domain, domain: domain))
                && entries.contains {
                    $0.cookie.isSecure && $0.cookie.nameBytes == cookie.nameBytes
                        && CookieOrigin.path(cookie.path, isAtOrBelow: $0.cookie.path)
                }
        }
    }

    /// Puts the cookie in the place of one with the same key, whose creation time it inherits.
    @discardableResult
    mutating func put(_ cookie: Cookie) -> Effect {
        uses += 1
        nextExpiry = min(nextExpiry, cookie.expires ?? nextExpiry)
        let key = cookie.key
        guard let index = domains.index(forKey: cookie.domain),
            let position = domains.values[index].firstIndex(where: { $0.cookie.has(key) })
        else {
            domains[cookie.domain, default: []].append(Entry(cookie, number: uses))
            count += 1
            return .added
        }
        return domains.values[index][position].replace(with: cookie, number: uses) ? .changed : .none
    }

    mutating func remove(_ key: Cookie.Key) {
        guard let position = domains[key.domain]?.firstIndex(where: { $0.cookie.has(key) }) else { return }
        _ = remove(at: position, of: key.domain)
    }

    mutating func remove(at position: Int, of domain: String) -> Cookie {
        let cookie = domains[domain, default: []].remove(at: position).cookie
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
        return cookie
    }

    mutating func removeExpired(at date: Date) {
        guard date >= nextExpiry else { return }
        let all = domains.values.joined().map(\.cookie)
        for cookie in all where cookie.isExpired(at: date) { remove(cookie.key) }
        nextExpiry = domains.values.joined().compactMap(\.cookie.expires).min() ?? .distantFuture
    }

    private static func isSentBefore(_ one: Entry, _ other: Entry) -> Bool {
        let lengths = (one.cookie.path.utf8.count, other.cookie.path.utf8.count)
        if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
        return (one.cookie.created, one.order) < (other.cookie.created, other.order)
    }
}

extension Cookie {
    fileprivate func isSent(to origin: CookieOrigin, at date: Date) -> Bool {
        (!isHostOnly || domain == origin.host) && (!isSecure || origin.isSecure) && !isExpired(at: date)
            && origin.matches(path: path)
    }
}
