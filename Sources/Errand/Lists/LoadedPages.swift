/// The loaded pages of a list with all their items, and the positions of the pages before and after them.
///
/// Independent of the loads that fill it.
struct LoadedPages<Item> {
    /// A page of the list.
    private struct Page {
        let position: PagePosition
        /// The number of items that the server sent.
        let receivedCount: Int
        /// The number of items shown.
        let rowCount: Int
        /// What is expected after the page.
        var expectation: PageExpectation
    }

    private(set) var totalCount: Int?
    private(set) var next: PagePosition?
    private(set) var previous: PagePosition?
    /// The rows of the newest page.
    private(set) var insertedRows = 0..<0
    /// Why ``next`` must not be requested; `nil` if it may be.
    private(set) var blockedReason: String?

    private var store = ItemStore<Item>()
    private var pages: [Page] = []
    // The position before each position up to the last page, including dropped pages. Leads back to dropped pages, and
    // recognizes a server that names a position again.
    private var visited: [PagePosition: PagePosition?] = [:]
    private var repeatDetector = RepeatDetector()
    // The last page; `nil` when the page after it has been dropped.
    private var lastInfo: PageInfo?
    // The number of items that the server sent before the first page, if it is known, and in the pages.
    private var itemsBefore: Int?
    private var receivedCount = 0
    private var largestPage = 0

    /// The items of all pages.
    var items: [Item] { store.items }
    /// The number of pages.
    var pageCount: Int { pages.count }
    /// The position of the first page.
    var firstPosition: PagePosition? { pages.first?.position }
    /// The number of pages in a row that have added no item.
    var emptyPageRun: Int { repeatDetector.emptyPageRun }
    /// Whether the list ends when the server has no page at ``next``.
    var endsWithoutNext: Bool { pages.last.map { $0.expectation != .more } ?? false }
    private var endsByRepeat: Bool { lastInfo != nil && pages.last?.expectation == .end }

    init() {}

    /// Creates a list without pages, which knows the positions before the first page of `old`.
    init(replacing old: LoadedPages) {
        itemsBefore = old.itemsBefore
        var position = old.firstPosition
        while let known = position, visited[known] == nil, let before = old.visited[known] {
            visited[known] = before
            position = before
        }
    }

    /// Adds a page after the others, or the first page.
    ///
    /// An empty page after the last one is not added, nor is a repetition of the last one.
    mutating func append(_ newItems: [Item], info: PageInfo, rules: ListRules<Item>) {
        totalCount = info.totalItems
        let start = items.count
        if !isRepetition(info, rules: rules) { store.append(newItems, itemID: rules.itemID) }
        insertedRows = start..<items.count
        guard !endsByRepeat || !insertedRows.isEmpty else { return end() }
        if pages.isEmpty {
            recordFirst(info, strategy: rules.strategy)
        } else {
            visited[info.position] = pages.last?.position
        }
        let info = completed(info, itemsBefore: itemsBefore?.addingClamped(receivedCount))
        setNext(after: info, rules: rules)
        guard next != nil || info.itemCount > 0 || pages.isEmpty else {
            visited[info.position] = nil
            return
        }
        insert(info, at: pages.endIndex, strategy: rules.strategy)
        lastInfo = info
    }

    /// Adds a page before the others.
    ///
    /// - Returns: False for a page that does not reach the others: it is not added, and ``previous`` is closer to them.
    mutating func prepend(_ newItems: [Item], info: PageInfo, rules: ListRules<Item>) -> Bool {
        totalCount = info.totalItems
        let gap = firstPosition?.items(after: info.position) ?? info.itemCount
        let count = items.count
        if info.itemCount > 0, info.itemCount < gap {
            insertedRows = 0..<0
            movePreviousCloser(pageSize: info.itemCount)
            return false
        }
        store.prepend(info.itemCount > gap ? Array(newItems.prefix(gap)) : newItems, itemID: rules.itemID)
        insertedRows = 0..<items.count - count
        let received = min(info.itemCount, gap)
        let info = completed(info, itemsBefore: itemsBefore.map { max(0, $0 - received) })
        insert(info, at: 0, strategy: rules.strategy, receivedCount: received)
        setPrevious(before: info, strategy: rules.strategy)
        updateExpectation(rules.strategy)
        return true
    }

    /// Ends the list after the last page.
    mutating func end() {
        next = nil
        blockedReason = nil
        insertedRows = items.count..<items.count
    }

    /// Removes pages at the beginning, so that `limit` remain, and returns their rows.
    mutating func dropFirstPages(keeping limit: Int, itemID: ItemID<Item>?) -> Range<Int> {
        let surplus = pages.prefix(max(0, pages.count - limit))
        guard let last = surplus.last else { return 0..<0 }
        let rows = 0..<surplus.reduce(0) { $0 + $1.rowCount }
        store.removeFirst(rows.count, itemID: itemID)
        insertedRows = insertedRows.lowerBound - rows.count..<insertedRows.upperBound - rows.count
        previous = last.position
        let dropped = surplus.reduce(0) { $0 + $1.receivedCount }
        itemsBefore = itemsBefore?.addingClamped(dropped)
        receivedCount -= dropped
        pages.removeFirst(surplus.count)
        return rows
    }

    /// Removes pages at the end, so that `limit` remain, and returns their rows.
    mutating func dropLastPages(keeping limit: Int, itemID: ItemID<Item>?) -> Range<Int> {
        let surplus = pages.dropFirst(limit)
        guard let first = surplus.first else { return items.count..<items.count }
        let rows = items.count - surplus.reduce(0) { $0 + $1.rowCount }..<items.count
        store.removeLast(rows.count, itemID: itemID)
        for page in surplus { visited[page.position] = nil }
        next = first.position
        blockedReason = nil
        lastInfo = nil
        receivedCount -= surplus.reduce(0) { $0 + $1.receivedCount }
        pages.removeLast(surplus.count)
        return rows
    }
}

extension LoadedPages {
    /// Returns the information with what is known of the other pages.
    private mutating func completed(_ info: PageInfo, itemsBefore: Int?) -> PageInfo {
        largestPage = max(largestPage, info.itemCount)
        var info = info
        info.itemsBefore = itemsBefore
        info.largestPage = largestPage
        return info
    }

    private mutating func insert(
        _ info: PageInfo,
        at index: Int,
        strategy: any PageStrategy,
        receivedCount count: Int? = nil
    ) {
        let page = Page(
            position: info.position,
            receivedCount: count ?? info.itemCount,
            rowCount: insertedRows.count,
            expectation: strategy.expectation(after: info)
        )
        pages.insert(page, at: index)
        receivedCount += page.receivedCount
    }

    /// Updates what is expected after the last page, because more is known of the pages before it.
    private mutating func updateExpectation(_ strategy: any PageStrategy) {
        guard let last = pages.indices.last, let lastInfo else { return }
        let before = itemsBefore?.addingClamped(receivedCount - pages[last].receivedCount)
        pages[last].expectation = strategy.expectation(after: completed(lastInfo, itemsBefore: before))
    }

    private mutating func recordFirst(_ info: PageInfo, strategy: any PageStrategy) {
        let named = try? strategy.position(before: completed(info, itemsBefore: nil))
        previous = visited[info.position] ?? (named == info.position ? nil : named)
        if previous == nil { itemsBefore = 0 }
        visited[info.position] = .some(previous)
    }

    private mutating func setNext(after info: PageInfo, rules: ListRules<Item>) {
        blockedReason = nil
        do throws(PageStrategyError) {
            next = try rules.strategy.position(after: info)
            detectRepeats(info, hasIDs: rules.itemID != nil)
        } catch {
            next = info.position
            blockedReason = error.description
        }
    }

    private mutating func setPrevious(before info: PageInfo, strategy: any PageStrategy) {
        if pages.count > 1 { visited[pages[1].position] = info.position }
        let named = try? strategy.position(before: info)
        // A named position that has been visited is a repeat, not a previous page.
        previous = (visited[info.position] ?? nil) ?? named.flatMap { visited[$0] == nil ? $0 : nil }
        itemsBefore = previous == nil ? 0 : info.itemsBefore
        visited[info.position] = .some(previous)
    }

    /// Sets ``previous`` to the position from which a page of this size reaches the first page.
    private mutating func movePreviousCloser(pageSize: Int) {
        guard let firstPosition, let previous = firstPosition.moved(by: -pageSize) else { return }
        largestPage = max(largestPage, pageSize)
        // The dropped pages had other positions.
        var known = visited[firstPosition] ?? nil
        while let position = known { known = visited.removeValue(forKey: position) ?? nil }
        self.previous = previous
        visited[firstPosition] = .some(previous)
    }

    /// Returns whether the page has the same items as the last one, after which no page is expected.
    private func isRepetition(_ info: PageInfo, rules: ListRules<Item>) -> Bool {
        endsByRepeat && rules.itemID == nil && repeatDetector.hasItemsOfNewestPage(info)
    }

    /// Blocks ``next`` if it has been visited before, or if pages are repeated.
    private mutating func detectRepeats(_ info: PageInfo, hasIDs: Bool) {
        repeatDetector.record(info, hasNewItems: !insertedRows.isEmpty, hasIDs: hasIDs)
        if let next, visited[next] != nil {
            blockedReason = "the server names a next page that it has named before"
        } else if repeatDetector.isRepeating {
            blockedReason = "the server sends the same page repeatedly"
        }
    }
}

extension PagePosition {
    /// Returns the number of items from `other` to this position, if both are offsets.
    fileprivate func items(after other: PagePosition) -> Int? {
        guard case .offset(let offset) = self, case .offset(let start) = other, offset > start else { return nil }
        return offset - start
    }

    fileprivate func moved(by count: Int) -> PagePosition? {
        guard case .offset(let offset) = self else { return nil }
        return .offset(offset + count)
    }
}
