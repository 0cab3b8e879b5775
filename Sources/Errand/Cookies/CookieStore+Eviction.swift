import Foundation

extension CookieStore {
    /// Cookies that one site may have.
    ///
    /// A site is a registrable domain with all hosts below it: counted by host or `Domain`, one server of many labels could
    /// fill the jar.
    static let mostPerSite = 180
    /// A site with more cookies than this gives way before others do.
    private static let fairShare = 50

    /// The registrable domain of a cookie's domain; an address, or a host that is a public suffix itself, as it is.
    func site(of domain: String) -> String {
        var name = domain[...]
        while name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        let host = String(name)
        guard !CookieHost.isAddress(host) else { return host }
        return suffixes.registrableDomain(of: host) ?? host
    }

    /// Makes room after a cookie of `domain` was added (RFC 6265bis section 5.7) and returns what had to go.
    mutating func evict(for domain: String) -> [Entry] { evict(from: [site(of: domain)]) }

    /// Makes room after cookies of any site were added.
    mutating func evict() { _ = evict(from: Array(sites.keys)) }

    private mutating func evict(from sites: [String]) -> [Entry] {
        var evicted: [Entry] = []
        for site in sites {
            while count(of: site) > Self.mostPerSite, let place = leastUseful(of: site) {
                evicted.append(removeEntry(at: place.position, of: place.domain))
            }
        }
        while count > capacity, let place = leastUseful {
            evicted.append(removeEntry(at: place.position, of: place.domain))
        }
        return evicted
    }

    private func count(of site: String) -> Int {
        sites[site, default: []].reduce(0) { $0 + (domains[$1]?.count ?? 0) }
    }

    private typealias Place = (domain: String, position: Int, entry: Entry)

    /// The least useful cookie of all: among the crowded sites, if there are any.
    private var leastUseful: Place? {
        let crowded = sites.keys.filter { count(of: $0) > Self.fairShare }
        return Self.leastUseful(of: (crowded.isEmpty ? Array(sites.keys) : crowded).compactMap(leastUseful))
    }

    private func leastUseful(of site: String) -> Place? {
        let places = sites[site, default: []].lazy.flatMap { domain in
            (domains[domain] ?? []).enumerated().lazy.map { (domain, $0.offset, $0.element) as Place }
        }
        return Self.leastUseful(of: places)
    }

    private static func leastUseful(of places: some Sequence<Place>) -> Place? {
        places.min { $0.entry.isLessUseful(than: $1.entry) }
    }
}

extension CookieStore.Entry {
    /// Insecure cookies go first, then those that were unused for longest.
    fileprivate func isLessUseful(than other: Self) -> Bool {
        cookie.isSecure == other.cookie.isSecure ? lastUse < other.lastUse : other.cookie.isSecure
    }
}
