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
    mutating func evict(for domain: String) -> [Entry] {
        var evicted: [Entry] = []
        let site = site(of: domain)
        while count(of: site) > Self.mostPerSite, let place = leastUseful(of: site) {
            evicted.append(removeEntry(at: place.position, of: place.domain))
        }
        while count > capacity, let place = leastUseful {
            evicted.append(removeEntry(at: place.position, of: place.domain))
        }
        return evicted
    }

    /// Makes room after any number of cookies were added: what ``evict(for:)`` does, for all of them at once.
    mutating func evict() {
        guard count > min(capacity, Self.mostPerSite) else { return }
        let entries = domains.values.joined().sorted { $0.isLessUseful(than: $1) }
        dropFirst(of: entries, while: { store, site in store.count(of: site) > Self.mostPerSite })
        dropFirst(of: entries) { store, site in
            store.count > store.capacity && store.count(of: site) > Self.fairShare
        }
        dropFirst(of: entries) { store, _ in store.count > store.capacity }
    }

    /// Drops each of these entries whose site has too many when its turn has come.
    private mutating func dropFirst(of entries: [Entry], while hasTooMany: (CookieStore, String) -> Bool) {
        for entry in entries where hasTooMany(self, site(of: entry.cookie.domain)) { drop(entry.cookie.key) }
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
