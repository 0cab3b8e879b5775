import Foundation

/// What a jar did since it last agreed with its file.
struct CookieChanges {
    private struct Edit {
        /// The cookie as it is now; `nil` when it was removed.
        var cookie: Cookie?
        /// Whether the file cannot know the cookie yet, so that removing it leaves nothing to tell.
        let isNew: Bool
        let order: Int
    }

    /// Whether everything that was in the file before these changes goes.
    private(set) var isClear = false
    /// The generation in which they were made.
    let generation: CookieJar.Generation
    private var edits: [Cookie.Key: Edit] = [:]
    private var count = 0
    /// The latest time that a change told, by which the file's cookies expire.
    private(set) var date: Date?

    init(in generation: CookieJar.Generation) {
        self.generation = generation
    }

    var isEmpty: Bool { !isClear && edits.isEmpty }

    func contains(_ key: Cookie.Key) -> Bool { edits[key] != nil }

    mutating func put(_ cookie: Cookie, isNew: Bool, at date: Date) {
        record(cookie, isNew: isNew, for: cookie.key)
        self.date = max(date, self.date ?? date)
    }

    mutating func remove(_ key: Cookie.Key) {
        guard edits[key]?.isNew != true else {
            edits[key] = nil
            return
        }
        record(nil, isNew: false, for: key)
    }

    mutating func clear() {
        self = CookieChanges(in: generation)
        isClear = true
    }

    /// These changes after `earlier` ones, which could not be written; a logout in between ends those.
    func following(_ earlier: CookieChanges) -> CookieChanges {
        guard earlier.generation == generation else { return self }
        var all = earlier
        for (key, edit) in ordered {
            if let cookie = edit.cookie { all.record(cookie, isNew: edit.isNew, for: key) } else { all.remove(key) }
        }
        all.date = [earlier.date, date].compactMap(\.self).max()
        return all
    }

    /// Makes the changes to what the file held.
    func apply(to store: inout CookieStore) {
        if isClear { store = CookieStore(capacity: store.capacity) }
        for (key, edit) in ordered {
            if let cookie = edit.cookie { store.put(cookie) } else { store.remove(key) }
        }
        guard let date else { return }
        store.removeExpired(at: date)
    }

    private var ordered: [(key: Cookie.Key, value: Edit)] {
        edits.sorted { $0.value.order < $1.value.order }
    }

    /// A cookie that is altered keeps its place among those of the same creation time.
    private mutating func record(_ cookie: Cookie?, isNew: Bool, for key: Cookie.Key) {
        count += 1
        guard let earlier = edits[key] else {
            edits[key] = Edit(cookie: cookie, isNew: isNew, order: count)
            return
        }
        let keepsPlace = earlier.cookie != nil && cookie != nil
        edits[key] = Edit(cookie: cookie, isNew: earlier.isNew, order: keepsPlace ? earlier.order : count)
    }
}
