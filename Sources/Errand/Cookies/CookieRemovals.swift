import Foundation

/// The cookies that were removed lately.
///
/// They keep an older update of another process, which reaches the file later, from bringing a cookie back.
struct CookieRemovals {
    struct Removal {
        let stamp: CookieStamp
        /// Whether the removal may end a `Secure` cookie.
        let isSecure: Bool
        /// The registrable domain, by which removals are counted.
        let site: String
        /// Whether the file has a removal of this cookie.
        var isSaved = false
    }

    /// Removals that one site may have: as many as cookies.
    private static let mostPerSite = CookieStore.mostPerSite
    /// Other processes save what they have to save within this time.
    private static let lifetime: TimeInterval = 86_400

    private(set) var all: [Cookie.Key: Removal] = [:]
    private var counts: [String: Int] = [:]
    /// How many there may be.
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(key: Cookie.Key) -> Removal? { all[key] }

    /// Notes a removal in place of an earlier one of the same cookie.
    mutating func put(_ removal: Removal, for key: Cookie.Key) {
        let earlier = remove(key)
        all[key] = removal
        if earlier?.isSaved == true { markSaved(key) }
        counts[removal.site, default: 0] += 1
        if counts[removal.site, default: 0] > Self.mostPerSite { removeOldest { $0.site == removal.site } }
        if all.count > capacity { removeOldest { _ in true } }
    }

    @discardableResult
    mutating func remove(_ key: Cookie.Key) -> Removal? {
        guard let removal = all.removeValue(forKey: key) else { return nil }
        counts[removal.site] = counts[removal.site].flatMap { $0 > 1 ? $0 - 1 : nil }
        return removal
    }

    mutating func markSaved(_ key: Cookie.Key) { all[key]?.isSaved = true }

    /// Forgets the removals that are too old at `date` to matter.
    mutating func removeOld(at date: Date) {
        let start = CookieStamp(date - Self.lifetime)
        for (key, removal) in all where removal.stamp < start { remove(key) }
    }

    private mutating func removeOldest(where isCounted: (Removal) -> Bool) {
        let oldest = all.filter { isCounted($0.value) }.min { $0.value.stamp < $1.value.stamp }
        if let oldest { remove(oldest.key) }
    }
}
