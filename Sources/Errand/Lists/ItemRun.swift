/// The items of a list in their order, each shown once where it has an identity.
struct ItemRun<Item> {
    private(set) var items: [Item] = []
    private var ids = ItemIndex()
    private var firstSerial: UInt32 = 1 << 31

    /// Adds items at the end, without those that are there already.
    mutating func append(_ page: [Item], _ itemID: ItemID<Item>?) {
        Self.append(page, to: &items, &ids, firstSerial, itemID)
    }

    /// Adds items at the beginning, without those that are there already.
    mutating func prepend(_ page: [Item], _ itemID: ItemID<Item>?) {
        Self.prepend(page, to: &items, &ids, &firstSerial, itemID)
    }

    /// Removes the first items.
    mutating func removeFirst(_ count: Int, _ itemID: ItemID<Item>?) {
        forget(0..<count, itemID)
        items.removeFirst(count)
        firstSerial += UInt32(count)
    }

    /// Removes the last items.
    mutating func removeLast(_ count: Int, _ itemID: ItemID<Item>?) {
        forget(items.count - count..<items.count, itemID)
        items.removeLast(count)
    }
}

extension ItemRun {
    private mutating func forget(_ rows: Range<Int>, _ itemID: ItemID<Item>?) {
        guard let itemID else { return }
        for row in rows { ids.remove(itemID.hash(items[row]), serial: firstSerial + UInt32(row)) }
    }

    // Static, so that the table of IDs may look at the items while it changes, and no second reference makes them be copied.
    private static func append(
        _ page: [Item],
        to items: inout [Item],
        _ ids: inout ItemIndex,
        _ firstSerial: UInt32,
        _ itemID: ItemID<Item>?
    ) {
        guard let itemID else { return items += page }
        // In runs between the items that are there already; as a rule that is one.
        var run = page.startIndex
        for index in page.indices {
            let serial = firstSerial + UInt32(items.count + index - run)
            let isNew = ids.insert(itemID.hash(page[index]), serial: serial) { known in
                let row = Int(known - firstSerial)
                return itemID.areSame(row < items.count ? items[row] : page[run + row - items.count], page[index])
            }
            guard !isNew else { continue }
            items += page[run..<index]
            run = index + 1
        }
        items += page[run...]
    }

    private static func prepend(
        _ page: [Item],
        to items: inout [Item],
        _ ids: inout ItemIndex,
        _ firstSerial: inout UInt32,
        _ itemID: ItemID<Item>?
    ) {
        guard let itemID else { return items.insert(contentsOf: page, at: 0) }
        // From the last item to the first, so that serial numbers go on downwards.
        var fresh: [Item] = []
        let start = firstSerial
        for item in page.reversed() {
            let isNew = ids.insert(itemID.hash(item), serial: start - 1 - UInt32(fresh.count)) { known in
                itemID.areSame(known < start ? fresh[Int(start - 1 - known)] : items[Int(known - start)], item)
            }
            if isNew { fresh.append(item) }
        }
        firstSerial -= UInt32(fresh.count)
        items.insert(contentsOf: fresh.reversed(), at: 0)
    }
}
