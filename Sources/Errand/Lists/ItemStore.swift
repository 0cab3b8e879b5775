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

    /// Returns how many of the first items of the next page have been received already.
    ///
    /// With an ``ItemID``, no item of the list is added again; in a window, those before the list's have been dropped.
    func countReceived(in preceding: ArraySlice<Item>, isWindow: Bool, itemID: ItemID<Item>?) -> Int {
        guard let itemID else { return preceding.count }
        guard isWindow else { return 0 }
        let last = preceding.lastIndex { item in items.contains { itemID.areSame($0, item) } }
        return last.map { $0 - preceding.startIndex } ?? 0
    }

    mutating func removeFirst(_ count: Int) {
        for item in items.prefix(count) { known?.remove(item) }
        items.removeFirst(count)
    }

    mutating func removeLast(_ count: Int) {
        for item in items.suffix(count) { known?.remove(item) }
        items.removeLast(count)
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
