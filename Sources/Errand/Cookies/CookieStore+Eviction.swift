import Foundation

extension CookieStore {
    /// Cookies that one domain may have.
    static let mostPerDomain = 180
    /// A domain with more cookies than this gives way before others do.
    private static let fairShare = 50

    /// Makes room after a cookie of `domain` was put (RFC 6265bis section 5.7) and returns what had to go.
    mutating func evict(for domain: String) -> [Cookie] {
        var evicted: [Cookie] = []
        while let entries = domains[domain], entries.count > Self.mostPerDomain {
            evicted.append(remove(at: Self.leastUseful(of: entries), of: domain))
        }
        while count > capacity, let (domain, entries) = domainToShorten {
            evicted.append(remove(at: Self.leastUseful(of: entries), of: domain))
        }
        return evicted
    }

    /// The domain with the least useful cookie of all: among the crowded domains, if there are any.
    private var domainToShorten: (key: String, value: [Entry])? {
        let crowded = domains.filter { $0.value.count > Self.fairShare }
        return (crowded.isEmpty ? domains : crowded).min { one, other in
            let (one, other) = (one.value, other.value)
            return one[Self.leastUseful(of: one)].isLessUseful(than: other[Self.leastUseful(of: other)])
        }
    }

    private static func leastUseful(of entries: [Entry]) -> Int {
        entries.indices.min { entries[$0].isLessUseful(than: entries[$1]) } ?? entries.startIndex
    }
}

extension CookieStore.Entry {
    /// Insecure cookies go first, then those that were unused for longest.
    fileprivate func isLessUseful(than other: Self) -> Bool {
        cookie.isSecure == other.cookie.isSecure ? lastUse < other.lastUse : other.cookie.isSecure
    }
}
