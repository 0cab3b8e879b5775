import Foundation

/// What a jar did since its file last learned of it.
struct CookieChanges {
    /// The generation in which it was done.
    let generation: CookieJar.Generation
    /// The cookies that were set or removed.
    var keys: Set<Cookie.Key> = []
    /// Whether the jar was cleared.
    var isLogout = false
    /// The latest time that a change was given, by which the file's cookies expire.
    private(set) var date: Date?

    var isEmpty: Bool { !isLogout && keys.isEmpty }

    mutating func insert(_ key: Cookie.Key, at date: Date?) {
        keys.insert(key)
        self.date = [date, self.date].compactMap(\.self).max()
    }

    /// Takes over earlier changes that could not be written; a logout in between has ended those.
    mutating func formUnion(_ earlier: CookieChanges) {
        guard earlier.generation == generation else { return }
        keys.formUnion(earlier.keys)
        isLogout = isLogout || earlier.isLogout
        date = [date, earlier.date].compactMap(\.self).max()
    }
}
