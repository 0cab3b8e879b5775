import Foundation

/// The cookies that were removed recently.
///
/// A recorded removal prevents that an older update, which another process saves later, restores the cookie.
struct CookieRemovals {
    struct Removal {
        let time: CookieTimestamp
        /// Whether the removal applies to `Secure` cookies too.
        let isSecure: Bool
        /// The registrable domain, by which removals are counted.
        let site: String
        /// Whether the file has a removal of this cookie.
        var isSaved = false
    }

    /// Removals that one site may have: as many as cookies.
    private static let maximumPerSite = CookieEviction.maximumPerSite
    /// Other processes save their changes within this time.
    private static let lifetime: TimeInterval = 86_400

    private(set) var all: [Cookie.Key: Removal] = [:]
    private var countBySite: [String: Int] = [:]
    /// The maximum number of removals.
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(key: Cookie.Key) -> Removal? { all[key] }

    /// Records a removal in place of an earlier one of the same cookie.
    mutating func insert(_ removal: Removal, for key: Cookie.Key) {
        let earlier = remove(key)
        all[key] = removal
        if earlier?.isSaved == true { markSaved(key) }
        countBySite[removal.site, default: 0] += 1
        if countBySite[removal.site, default: 0] > Self.maximumPerSite { removeOldest { $0.site == removal.site } }
        if all.count > capacity { removeOldest { _ in true } }
    }

    @discardableResult
    mutating func remove(_ key: Cookie.Key) -> Removal? {
        guard let removal = all.removeValue(forKey: key) else { return nil }
        countBySite[removal.site] = countBySite[removal.site].flatMap { $0 > 1 ? $0 - 1 : nil }
        return removal
    }

    mutating func markSaved(_ key: Cookie.Key) { all[key]?.isSaved = true }

    /// Discards the removals that have exceeded their lifetime at `date`.
    mutating func removeOld(at date: Date) {
        let start = CookieTimestamp(date - Self.lifetime)
        for (key, removal) in all where removal.time < start { remove(key) }
    }

    private mutating func removeOldest(where isIncluded: (Removal) -> Bool) {
        let oldest = all.filter { isIncluded($0.value) }.min { $0.value.time < $1.value.time }
        if let oldest { remove(oldest.key) }
    }
}
