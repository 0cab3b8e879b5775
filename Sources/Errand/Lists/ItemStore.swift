/// The items of a list in their order; with an ``ItemID``, each item once.
struct ItemStore<Item> {
    private(set) var items: [Item] = []
    // By their IDs; `nil` without an identity.
    private var known: (any ItemSet<Item>)?
    // Those that edits have removed.
    private var removed: (any ItemSet<Item>)?

    mutating func append(_ page: [Item], itemID: ItemID<Item>?) {
        items += newItems(of: page, itemID: itemID)
    }

    /// Of two items with one ID, the last one is added.
    mutating func prepend(_ page: [Item], itemID: ItemID<Item>?) {
        items.insert(contentsOf: newItems(of: page.reversed(), itemID: itemID).reversed(), at: 0)
    }

    /// Returns how many items at the beginning of a page are among the `count` first ones of the server's page, which have been
    /// received already.
    ///
    /// With an ``ItemID``, no item of the list is added again; in a window, those before the list's have been dropped.
    func countReceived(_ count: Int, in page: ServerPage<Item>, isWindow: Bool, itemID: ItemID<Item>?) -> Int {
        let preceding = page.items.prefix(count + page.addedCount)
        guard let itemID else {
            // Where the app has left items out is not known: rather an item too many than one that is missing.
            let known = min(preceding.count, page.remaining(of: count))
            guard known < preceding.count, let identity = ItemID<Item>.ofIdentifiable else { return known }
            return max(known, preceding.lastIndex { contains($0, identity) }.map { $0 + 1 } ?? 0)
        }
        guard isWindow else { return 0 }
        return preceding.lastIndex { contains($0, itemID) } ?? 0
    }

    /// Returns the items at the beginning of a page that are before the list's, which `count` items of the server's page are.
    ///
    /// With an ``ItemID``, no item of the list is added again; a window lacks those that it has dropped.
    func precedingItems(_ count: Int, in page: ServerPage<Item>, isWindow: Bool, itemID: ItemID<Item>?) -> [Item] {
        guard page.itemCount > count, isWindow || itemID == nil else { return page.items }
        var end = min(count + page.addedCount, page.items.count)
        guard let identity = itemID ?? .ofIdentifiable else { return Array(page.items[..<end]) }
        // More, if another client has inserted some, or the app has left out items of a page to which it has added others.
        let areKnown = page.items.map { contains($0, identity) }
        end = areKnown[end...].firstIndex(of: true) ?? (areKnown[..<end].contains(true) ? end : areKnown.count)
        while itemID == nil, end > page.remaining(of: count), areKnown[end - 1] { end -= 1 }
        return Array(page.items[..<end])
    }

    private func contains(_ item: Item, _ identity: ItemID<Item>) -> Bool {
        items.contains { identity.areSame(item, $0) }
    }

    /// Pages may add the items again.
    mutating func drop(_ rows: Range<Int>) {
        for item in items[rows] { known?.remove(item) }
        items.removeSubrange(rows)
    }

    mutating func insert(_ item: Item, at row: Int, itemID: ItemID<Item>?) {
        identify(itemID)
        _ = known?.insert(item)
        removed?.remove(item)
        items.insert(item, at: row)
    }

    /// With an ``ItemID``, a page does not add the item again.
    mutating func remove(at row: Int, itemID: ItemID<Item>?) {
        identify(itemID)
        let item = items.remove(at: row)
        known?.remove(item)
        if removed == nil { removed = itemID?.makeSet() }
        _ = removed?.insert(item)
    }

    mutating func replace(_ row: Int, with item: Item, itemID: ItemID<Item>?) {
        guard let itemID, !itemID.areSame(items[row], item) else { return items[row] = item }
        remove(at: row, itemID: itemID)
        insert(item, at: row, itemID: itemID)
    }

    private mutating func newItems(of page: [Item], itemID: ItemID<Item>?) -> [Item] {
        identify(itemID)
        guard known != nil else { return page }
        return page.filter { removed?.contains($0) != true && known?.insert($0) == true }
    }

    private mutating func identify(_ itemID: ItemID<Item>?) {
        guard let itemID else { return known = nil }
        guard known == nil else { return }
        var ids = itemID.makeSet()
        for item in items { _ = ids.insert(item) }
        known = ids
    }
}

/// The items of a page as the app has changed them, and how many the server has sent.
struct ServerPage<Item> {
    let items: [Item]
    let itemCount: Int

    /// How many the app has added, such as headings, at least.
    var addedCount: Int { max(0, items.count - itemCount) }

    /// How many of the first items are left at least.
    func remaining(of count: Int) -> Int { max(0, count - max(0, itemCount - items.count)) }
}
