import Foundation

extension CookieStore {
    /// Cookies that one domain may have.
    static let mostPerDomain = 180
    /// Cookies of all domains.
    static let mostInAll = 3_300
    /// A domain with more cookies than this gives way before others do.
    private static let fairShare = 50

    /// Makes room after a cookie of `domain` was put (RFC 6265bis section 5.7) and returns what had to go.
    mutating func evict(for domain: String) -> [Cookie] {
        var evicted: [Cookie] = []
        while let own = domains[domain], own.count > Self.mostPerDomain, let victim = Self.victim(among: own) {
            evicted.append(victim)
            remove(victim.key)
        }
        while count > Self.mostInAll, let victim = leastUseful {
            evicted.append(victim)
            remove(victim.key)
        }
        return evicted
    }

    /// Insecure cookies of crowded domains go first, then any of those, then the rest; among equals the longest unused.
    private var leastUseful: Cookie? {
        let crowded = domains.values.filter { $0.count > Self.fairShare }
        return Self.victim(among: crowded.joined()) ?? Self.victim(among: domains.values.joined())
    }

    private static func victim(among entries: some Sequence<Entry>) -> Cookie? {
        entries.min { ($0.cookie.isSecure ? 1 : 0, $0.lastUse) < ($1.cookie.isSecure ? 1 : 0, $1.lastUse) }?.cookie
    }
}
