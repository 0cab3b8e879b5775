/// The items of a list in their order; with an ``ItemID``, each item once.
struct ItemStore<Item> {
    private(set) var items: [Item] = []
    private var index = ItemIndex()
    private var firstSerial: UInt32 = 1 << 31
    // Whether an edit has moved items away from their serial numbers.
    private var hasMovedItems = false
    // The items removed by edits, by the hashes of their IDs.
    private var removed: [Int: [Item]] = [:]

    /// Adds the new ones of these items at the end.
    mutating func append(_ page: [Item], itemID: ItemID<Item>?) {
        guard let itemID else { return items += page }
        makeIndex(itemID)
        let page = withoutRemoved(page, itemID: itemID)
        Self.append(page, to: &items, index: &index, firstSerial: firstSerial, itemID: itemID)
    }

    /// Adds the new ones of these items at the beginning.
    mutating func prepend(_ page: [Item], itemID: ItemID<Item>?) {
        guard let itemID else { return items.insert(contentsOf: page, at: 0) }
        makeIndex(itemID)
        let page = withoutRemoved(page, itemID: itemID)
        let new = Self.newItems(of: page, before: items, index: &index, firstSerial: firstSerial, itemID: itemID)
        firstSerial -= UInt32(new.count)
        items.insert(contentsOf: new.reversed(), at: 0)
    }

    /// Returns how many of the first items of the next page, which have been received already, must not be added.
    ///
    /// With an ``ItemID``, no item of the list is added again; in a window, those before the list's have been dropped.
    func countReceived(in preceding: ArraySlice<Item>, isWindow: Bool, itemID: ItemID<Item>?) -> Int {
        guard let itemID else { return preceding.count }
        guard isWindow else { return 0 }
        let last = preceding.lastIndex { item in items.contains { itemID.areSame($0, item) } }
        return last.map { $0 - preceding.startIndex } ?? 0
    }

    /// Removes the first items.
    mutating func removeFirst(_ count: Int, itemID: ItemID<Item>?) {
        removeFromIndex(0..<count, itemID: itemID)
        items.removeFirst(count)
        firstSerial += UInt32(count)
    }

    /// Removes the last items.
    mutating func removeLast(_ count: Int, itemID: ItemID<Item>?) {
        removeFromIndex(items.count - count..<items.count, itemID: itemID)
        items.removeLast(count)
    }
}

extension ItemStore {
    /// Inserts an item; with an ``ItemID``, one that no other has.
    mutating func insert(_ item: Item, at row: Int, itemID: ItemID<Item>?) {
        items.insert(item, at: row)
        hasMovedItems = true
        if let itemID { removed[itemID.hash(item)]?.removeAll { itemID.areSame($0, item) } }
    }

    /// Removes an item; with an ``ItemID``, it is not added again by a page.
    mutating func remove(at row: Int, itemID: ItemID<Item>?) {
        let item = items.remove(at: row)
        hasMovedItems = true
        if let itemID { removed[itemID.hash(item), default: []].append(item) }
    }

    /// Replaces an item by one with the same ID, or by one with an ID that no other has.
    mutating func replace(_ row: Int, with item: Item, itemID: ItemID<Item>?) {
        guard let itemID, !itemID.areSame(items[row], item) else { return items[row] = item }
        remove(at: row, itemID: itemID)
        insert(item, at: row, itemID: itemID)
    }

    /// Makes the index again after edits, which are too rare to keep it up to date.
    private mutating func makeIndex(_ itemID: ItemID<Item>) {
        guard hasMovedItems else { return }
        let (items, firstSerial) = (items, UInt32(1) << 31)
        var index = ItemIndex()
        for row in items.indices {
            _ = index.insert(hash: itemID.hash(items[row]), serial: firstSerial + UInt32(row)) { known in
                itemID.areSame(items[Int(known - firstSerial)], items[row])
            }
        }
        (self.index, self.firstSerial, hasMovedItems) = (index, firstSerial, false)
    }

    private func withoutRemoved(_ page: [Item], itemID: ItemID<Item>) -> [Item] {
        guard !removed.isEmpty else { return page }
        return page.filter { item in removed[itemID.hash(item)]?.contains { itemID.areSame($0, item) } != true }
    }

    private mutating func removeFromIndex(_ rows: Range<Int>, itemID: ItemID<Item>?) {
        guard let itemID, !hasMovedItems else { return }
        for row in rows { index.remove(hash: itemID.hash(items[row]), serial: firstSerial + UInt32(row)) }
    }

    // Static, because the index reads the items while it changes, and another reference to the items would copy them.
    private static func append(
        _ page: [Item],
        to items: inout [Item],
        index: inout ItemIndex,
        firstSerial: UInt32,
        itemID: ItemID<Item>
    ) {
        // In runs between the items that are not new; usually there is one run.
        var run = page.startIndex
        for position in page.indices {
            let serial = firstSerial + UInt32(items.count + position - run)
            let isNew = index.insert(hash: itemID.hash(page[position]), serial: serial) { known in
                let row = Int(known - firstSerial)
                return itemID.areSame(row < items.count ? items[row] : page[run + row - items.count], page[position])
            }
            guard !isNew else { continue }
            items += page[run..<position]
            run = position + 1
        }
        items += page[run...]
    }

    /// Returns the new ones of these items, the last one first.
    private static func newItems(
        of page: [Item],
        before items: [Item],
        index: inout ItemIndex,
        firstSerial: UInt32,
        itemID: ItemID<Item>
    ) -> [Item] {
        // From the last item to the first, because serial numbers decrease towards the beginning.
        var new: [Item] = []
        for item in page.reversed() {
            let isNew = index.insert(hash: itemID.hash(item), serial: firstSerial - 1 - UInt32(new.count)) { known in
                guard known < firstSerial else { return itemID.areSame(items[Int(known - firstSerial)], item) }
                return itemID.areSame(new[Int(firstSerial - 1 - known)], item)
            }
            if isNew { new.append(item) }
        }
        return new
    }
}
