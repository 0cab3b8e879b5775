/// Removes cookies when a site or the jar has too many (RFC 6265bis section 5.7).
///
/// Insecure cookies are removed before secure ones, then those that were unused for longest.
struct CookieEviction {
    typealias Entry = CookieStore.Entry

    /// Counted by registrable domain: counted by host or `Domain`, one server with many subdomains could fill the jar.
    static let maximumPerSite = 180
    /// When the jar is full, sites with more cookies than this lose cookies before other sites do.
    private static let fairShare = 50

    let capacity: Int

    /// Returns what was removed.
    func evict(from index: inout CookieIndex, afterInsertionInto domain: String) -> [Entry] {
        var evicted: [Entry] = []
        let site = index.site(of: domain)
        while index.count(ofSite: site) > Self.maximumPerSite, let entry = leastUseful(ofSite: site, in: index) {
            index.remove(entry.cookie.key)
            evicted.append(entry)
        }
        while index.count > capacity, let entry = leastUseful(in: index) {
            index.remove(entry.cookie.key)
            evicted.append(entry)
        }
        return evicted
    }

    func evict(from index: inout CookieIndex) {
        guard index.count > min(capacity, Self.maximumPerSite) else { return }
        let entries = index.entries.sorted { $0.isLessUseful(than: $1) }
        remove(entries, from: &index) { $0.count(ofSite: $1) > Self.maximumPerSite }
        remove(entries, from: &index) { $0.count > capacity && $0.count(ofSite: $1) > Self.fairShare }
        remove(entries, from: &index) { index, _ in index.count > capacity }
    }

    /// Removes entries, in order, for whose site `hasTooMany` returns `true` at that time.
    private func remove(
        _ entries: [Entry],
        from index: inout CookieIndex,
        while hasTooMany: (_ index: CookieIndex, _ site: String) -> Bool
    ) {
        for entry in entries where hasTooMany(index, index.site(of: entry.cookie.domain)) {
            index.remove(entry.cookie.key)
        }
    }

    /// Of the sites that exceed the fair share, if there are any, otherwise of all sites.
    private func leastUseful(in index: CookieIndex) -> Entry? {
        let crowded = index.sites.filter { index.count(ofSite: $0) > Self.fairShare }
        return (crowded.isEmpty ? index.sites : crowded)
            .compactMap { leastUseful(ofSite: $0, in: index) }
            .min { $0.isLessUseful(than: $1) }
    }

    private func leastUseful(ofSite site: String, in index: CookieIndex) -> Entry? {
        index.entries(ofSite: site).min { $0.isLessUseful(than: $1) }
    }
}

extension CookieStore.Entry {
    fileprivate func isLessUseful(than other: Self) -> Bool {
        cookie.isSecure == other.cookie.isSecure ? lastUse < other.lastUse : other.cookie.isSecure
    }
}
