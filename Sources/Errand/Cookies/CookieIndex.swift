/// The cookies of a store by domain, and the domains by site.
///
/// A site is a registrable domain with all its subdomains, or a host without one.
struct CookieIndex {
    typealias Entry = CookieStore.Entry

    private var entriesByDomain: [String: [Entry]] = [:]
    private var domainsBySite: [String: Set<String>] = [:]
    private(set) var count = 0
    let suffixes: PublicSuffixList

    init(suffixes: PublicSuffixList) {
        self.suffixes = suffixes
    }

    var entries: [Entry] { Array(entriesByDomain.values.joined()) }

    subscript(key: Cookie.Key) -> Entry? { entriesByDomain[key.domain]?.first { $0.cookie.hasKey(key) } }

    func contains(where predicate: (Entry) -> Bool) -> Bool {
        entriesByDomain.values.contains { $0.contains(where: predicate) }
    }

    mutating func insert(_ entry: Entry) {
        let domain = entry.cookie.domain
        if entriesByDomain[domain] == nil { domainsBySite[site(of: domain), default: []].insert(domain) }
        entriesByDomain[domain, default: []].append(entry)
        count += 1
    }

    mutating func update<Result>(_ key: Cookie.Key, _ body: (inout Entry) -> Result) -> Result? {
        guard let place = entriesByDomain.index(forKey: key.domain) else { return nil }
        guard let position = entriesByDomain.values[place].firstIndex(where: { $0.cookie.hasKey(key) }) else {
            return nil
        }
        return body(&entriesByDomain.values[place][position])
    }

    mutating func updateEntries(of domain: String, _ body: (inout Entry) -> Void) {
        guard let place = entriesByDomain.index(forKey: domain) else { return }
        for position in entriesByDomain.values[place].indices { body(&entriesByDomain.values[place][position]) }
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
}

// MARK: Sites

extension CookieIndex {
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
