import Foundation

/// The loaded pages of a list as one run of items, and the ways on from both of its ends; it knows nothing of loads.
struct PageContent<Item> {
    /// A page that is in the list.
    private struct Loaded {
        let position: PagePosition
        var rows: Int
    }

    private(set) var items: [Item] = []
    private(set) var totalCount: Int?
    private(set) var next: PagePosition?
    private(set) var previous: PagePosition?
    /// Where the items of the newest page stand.
    private(set) var newestRows = 0..<0
    /// More pages in a row than this without a new item are not the gaps of a filter.
    private static var barrenLimit: Int { 100 }

    /// Why it makes no sense to ask for ``next``.
    private(set) var deadEnd: String?
    /// How many pages in a row have brought nothing new.
    private(set) var barrenPages = 0

    private var loaded: [Loaded] = []
    private var ids = ItemIndex()
    private var firstSerial: UInt32 = 1 << 31
    // The position in front of each position up to the last page, dropped pages included: the way back, and what a server
    // that goes in circles comes back to.
    private var trail: [PagePosition: PagePosition?] = [:]
    private var newestBody = Data()
    private var repeats = 0

    /// How many pages there are.
    var pageCount: Int { loaded.count }
    /// Where the first page stands.
    var first: PagePosition? { loaded.first?.position }

    init() {}

    /// No pages yet, but those that can be asked for in front of `old`'s first page.
    init(inPlaceOf old: PageContent) {
        var position = old.first
        while let known = position, trail[known] == nil, let before = old.trail[known] {
            trail[known] = before
            position = before
        }
    }

    /// Adds the page that stands behind the others, or the first one.
    mutating func append<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ strategy: any PageStrategy,
        _ itemID: ItemID<Item>?
    ) where Page.Item == Item {
        let start = items.count
        Self.append(page.items, to: &items, &ids, firstSerial, itemID)
        newestRows = start..<items.count
        if loaded.isEmpty { enterFirst(facts, strategy) } else { trail[facts.position] = loaded.last?.position }
        loaded.append(Loaded(position: facts.position, rows: newestRows.count))
        totalCount = page.totalItems
        deadEnd = nil
        do throws(PageStrategyError) {
            next = try strategy.position(after: facts)
            lookForCircle(facts, hasIDs: itemID != nil)
        } catch {
            next = facts.position
            deadEnd = error.description
        }
    }

    /// Adds the page that stands in front of the others.
    mutating func prepend<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ strategy: any PageStrategy,
        _ itemID: ItemID<Item>?
    ) where Page.Item == Item {
        let count = items.count
        Self.prepend(page.items, to: &items, &ids, &firstSerial, itemID)
        newestRows = 0..<items.count - count
        if let first { trail[first] = facts.position }
        let known = trail[facts.position] ?? nil
        loaded.insert(Loaded(position: facts.position, rows: newestRows.count), at: 0)
        totalCount = page.totalItems
        let told = try? strategy.position(before: facts)
        // A page that is known stands behind this one: the server goes in circles.
        previous = known ?? told.flatMap { trail[$0] == nil ? $0 : nil }
        trail[facts.position] = previous
    }

    /// Drops the first page or the first pages, so that `limit` are left, and returns the rows that they had.
    mutating func dropFirstPages(leaving limit: Int, _ itemID: ItemID<Item>?) -> Range<Int> {
        let surplus = loaded.prefix(max(0, loaded.count - limit))
        guard let last = surplus.last else { return 0..<0 }
        let rows = 0..<surplus.reduce(0) { $0 + $1.rows }
        forget(rows, itemID)
        items.removeFirst(rows.count)
        firstSerial += UInt32(rows.count)
        newestRows = newestRows.lowerBound - rows.count..<newestRows.upperBound - rows.count
        previous = last.position
        loaded.removeFirst(surplus.count)
        return rows
    }

    /// Drops the last page or the last pages, so that `limit` are left, and returns the rows that they had.
    mutating func dropLastPages(leaving limit: Int, _ itemID: ItemID<Item>?) -> Range<Int> {
        let surplus = loaded.dropFirst(limit)
        guard let first = surplus.first else { return items.count..<items.count }
        let rows = items.count - surplus.reduce(0) { $0 + $1.rows }..<items.count
        forget(rows, itemID)
        items.removeLast(rows.count)
        for page in surplus { trail[page.position] = nil }
        next = first.position
        deadEnd = nil
        loaded.removeLast(surplus.count)
        return rows
    }
}

extension PageContent {
    private mutating func enterFirst(_ facts: PageFacts, _ strategy: any PageStrategy) {
        let told = try? strategy.position(before: facts)
        previous = trail[facts.position] ?? (told == facts.position ? nil : told)
        trail[facts.position] = .some(previous)
    }

    /// Recognises a position that the list has come by before, and pages that bring nothing new again and again.
    private mutating func lookForCircle(_ facts: PageFacts, hasIDs: Bool) {
        barrenPages = newestRows.isEmpty ? barrenPages + 1 : 0
        let isRepeat = hasIDs ? newestRows.isEmpty : facts.response.body == newestBody
        repeats = isRepeat && facts.itemCount > 0 ? repeats + 1 : 0
        newestBody = facts.response.body
        if let next, trail[next] != nil {
            deadEnd = "the server names a page as the next one that it has given before"
        } else if repeats >= 3 || barrenPages >= Self.barrenLimit {
            deadEnd = "the server sends the same page again and again"
        }
    }

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
