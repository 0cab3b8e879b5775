/// The loaded pages of a list with all their items, and the positions of the pages before and after them.
///
/// Independent of the loads that fill it.
struct LoadedPages<Item> {
    private(set) var totalCount: Int?
    private(set) var nextStart: PageStart?
    private(set) var previous: PagePosition?
    private(set) var insertedRows = 0..<0
    /// Why ``next`` must not be requested.
    private(set) var blockedReason: String?

    private var store = ItemStore<Item>()
    private var pages: [PageSpan] = []
    private var visited = VisitedPositions()
    private var repeatDetector = RepeatDetector()
    // `nil` when the page after the last one has been dropped.
    private var lastInfo: PageInfo?
    // By how many items edits have changed the server's list since that page.
    private var changeSinceLastInfo = 0
    // The number of items that the server sent before the first page.
    private var itemsBefore: Int?
    private var largestPage = 0
    // That no page has contained since.
    private var insertedCount = 0
    // Of the pages that the last one to be added at the beginning does not lead to.
    private var cutRows = 0

    var items: [Item] { store.items }
    var pageCount: Int { pages.count }
    var pagesWithRows: Int { pages.pagesWithRows }
    var next: PagePosition? { nextStart?.position }
    var firstPosition: PagePosition? { pages.first?.position }
    var emptyPageRun: Int { repeatDetector.emptyPageRun }
    /// Whether the list ends if the server has no page at ``next``.
    var endsWithoutNext: Bool { pages.last.map { $0.expectation != .more } ?? false }
    private var endsByRepeat: Bool { lastInfo != nil && pages.last?.expectation == .end }

    init() {}

    /// Knows the positions before the first page of `old`.
    init(replacing old: LoadedPages) {
        // The first page may be the only one that has it.
        totalCount = old.previous == nil ? nil : old.totalCount
        itemsBefore = old.itemsBefore.map { max(0, $0 - (old.pages.first?.start.precedingItems ?? 0)) }
        visited = VisitedPositions(upTo: old.firstPosition, in: old.visited)
    }

    /// Does not add an empty page after the last one, nor a repetition of the last one.
    mutating func append(_ newItems: [Item], info: PageInfo, rules: ListRules<Item>) {
        updateTotal(info)
        let (rows, start) = (items.count, PageStart(info.position, precedingItems: nextStart?.precedingItems ?? 0))
        let page = ServerPage(items: newItems, itemCount: info.itemCount)
        let (count, isWindow) = (start.precedingItems, previous != nil)
        let known = store.countReceived(count, in: page, isWindow: isWindow, itemID: rules.itemID)
        if !endsByRepeat || !isRepetition(newItems, of: info, hasIDs: rules.itemID != nil) {
            store.append(known > 0 ? Array(newItems.dropFirst(known)) : newItems, itemID: rules.itemID)
        }
        insertedRows = rows..<items.count
        guard !endsByRepeat || !insertedRows.isEmpty || isLeftOut(newItems, of: info) else { return end() }
        if pages.isEmpty {
            recordFirst(info, strategy: rules.strategy)
        } else {
            visited.insert(info.position, after: pages.last?.position)
            // Not the position of a page that is loaded once more: another one may have named it as the previous page.
            if lastInfo != nil || pages.last?.next == info.position { visited.didNameNext(info.position) }
            // The next page may have the name of the previous one, also because edits have moved it there.
            if previous == info.position, count == 0 { previous = nil }
            if previous == info.position, known == 0 {
                previous = rules.strategy.position(before: PageStart(info.position), pageSize: largestPage)
            }
        }
        let info = completed(info, itemsBefore: itemsBefore?.addingClamped(pages.receivedCount - start.precedingItems))
        setNext(after: info, isKnown: isKnown(newItems, rules), rules: rules)
        let received = max(0, info.itemCount - start.precedingItems)
        guard next != nil || received > 0 || !insertedRows.isEmpty || pages.isEmpty else {
            return visited.remove(info.position)
        }
        pages.append(span(of: info, from: start, receivedCount: received, rules))
        (lastInfo, changeSinceLastInfo) = (info, 0)
    }

    /// Returns false for a page that does not reach the others: it is not added, and ``previous`` is closer to them.
    mutating func prepend(_ newItems: [Item], info: PageInfo, rules: ListRules<Item>) -> Bool {
        updateTotal(info)
        // Before its items are compared with those below.
        if let next = nextElsewhere(info, strategy: rules.strategy) { cutPages(info, next: next) }
        let gap = pages.first?.start.items(after: info.position) ?? info.itemCount
        let count = items.count
        if info.itemCount > 0, info.itemCount < gap, info.position != firstPosition {
            insertedRows = 0..<0
            movePreviousCloser(pageSize: info.itemCount)
            return false
        }
        let newPage = ServerPage(items: newItems, itemCount: info.itemCount)
        let (itemID, isWindow) = (rules.itemID, rules.maxPages != nil || lastInfo == nil)
        store.prepend(store.precedingItems(gap, in: newPage, isWindow: isWindow, itemID: itemID), itemID: itemID)
        insertedRows = 0..<items.count - count
        let received = min(info.itemCount, gap)
        let info = completed(info, itemsBefore: itemsBefore.map { max(0, $0 - received) })
        var page = span(of: info, from: PageStart(info.position), receivedCount: received, rules)
        if !isCalculated(rules.strategy) { page.next = try? rules.strategy.position(after: info) }
        pages.insert(page, at: 0)
        setPrevious(before: info, strategy: rules.strategy)
        updateExpectation(rules.strategy)
        return true
    }

    /// Returns what the page before the first one leads to instead of that; `nil` if it still leads there.
    ///
    /// What the server has added between both would be missing.
    private func nextElsewhere(_ info: PageInfo, strategy: any PageStrategy) -> PagePosition?? {
        guard isReplaceable(strategy), let next = try? Optional(strategy.position(after: info)), next != firstPosition
        else { return nil }
        return next
    }

    /// Whether a previous page may replace those that are loaded: calculated positions are those of any page.
    func isReplaceable(_ strategy: any PageStrategy) -> Bool {
        firstPosition.map(visited.isNext) == true && !isCalculated(strategy)
    }

    /// Whether the positions count items, so that edits move them.
    private func isCalculated(_ strategy: any PageStrategy) -> Bool {
        pages.first.map { strategy.start($0.start, movedBy: 1, pageSize: largestPage) != nil } ?? false
    }

    private mutating func cutPages(_ info: PageInfo, next: PagePosition?) {
        cutRows = items.count
        store.drop(0..<cutRows)
        for page in pages { visited.remove(page.position) }
        repeatDetector.removeLast(pages.count)
        pages = []
        (nextStart, blockedReason) = (next.map { PageStart($0) }, nil)
        detectRepeats(info, isKnown: nil)
        (lastInfo, changeSinceLastInfo) = (info, 0)
    }

    mutating func end() {
        nextStart = nil
        blockedReason = nil
        insertedRows = items.count..<items.count
    }

    /// Returns the rows of the removed pages.
    mutating func dropFirstPages(_ rules: ListRules<Item>) -> Range<Int> {
        let dropped = pages.removeFirst(keeping: rules.maxPages)
        let rows = 0..<dropped.rowCount
        guard let last = dropped.last, let first = pages.first else { return rows }
        store.drop(rows)
        insertedRows = insertedRows.lowerBound - rows.count..<insertedRows.upperBound - rows.count
        itemsBefore = itemsBefore?.addingClamped(dropped.receivedCount)
        previous = last.position
        if visited.haveMoved { previous = rules.strategy.position(before: first.start, pageSize: largestPage) }
        return rows
    }

    /// Returns the rows of the removed pages.
    mutating func dropLastPages(_ rules: ListRules<Item>) -> Range<Int> {
        let dropped = pages.removeLast(keeping: rules.maxPages)
        let rows = items.count - dropped.rowCount..<items.count + exchange(&cutRows, with: 0)
        guard let first = dropped.first else { return rows }
        store.drop(rows)
        for page in dropped { visited.remove(page.position) }
        repeatDetector.removeLast(dropped.count)
        (nextStart, blockedReason, lastInfo) = (first.start, nil, nil)
        // The dropped page began there when it was loaded: others may have inserted items before it since.
        if let next = pages.last?.next, !visited.contains(next) { nextStart = PageStart(next) }
        return rows
    }
}

extension LoadedPages {
    mutating func apply(_ edit: ListEdit<Item>, rules: ListRules<Item>) {
        switch edit.change {
        case .replace(let item):
            store.replace(edit.row, with: item, itemID: rules.itemID)
        case .insert(let item):
            let page = pages.index(ofRow: max(0, edit.row - 1))
            store.insert(item, at: edit.row, itemID: rules.itemID)
            insertedCount += 1
            adjustCounts(by: 1, ofPage: page, for: edit, strategy: rules.strategy)
        case .remove:
            let page = pages.index(ofRow: edit.row)
            store.remove(at: edit.row, itemID: rules.itemID)
            adjustCounts(by: -1, ofPage: page, for: edit, strategy: rules.strategy)
        }
    }

    /// Moves the pages after the row as far as on the server.
    private mutating func adjustCounts(
        by change: Int,
        ofPage page: Int?,
        for edit: ListEdit<Item>,
        strategy: any PageStrategy
    ) {
        insertedRows = insertedRows.moved(by: change, at: edit.row)
        guard let page else { return }
        let isOnServer = pages.adjustCounts(by: change, ofPage: page, row: edit.row, isOnServer: edit.isOnServer)
        // The pages after it begin where the row says.
        if isCalculated(strategy) { pages[page].boundaryRowCount = 0 }
        guard isOnServer else { return }
        changeSinceLastInfo += change
        totalCount = totalCount.map { max(0, $0.addingClamped(change)) }
        guard isCalculated(strategy) else { return }
        let size = largestPage
        let moved = { strategy.start($0, movedBy: change, pageSize: size) ?? $0 }
        for later in pages.indices.dropFirst(page + 1) { pages[later].start = moved(pages[later].start) }
        nextStart = nextStart.map(moved)
        visited.removeAllMoved()
    }
}

extension LoadedPages {
    private mutating func updateTotal(_ info: PageInfo) {
        // Some servers send it with the first page alone.
        if let total = info.totalItems, !info.isTotalOutdated { totalCount = total }
    }

    /// Adds what is known of the other pages.
    private mutating func completed(_ info: PageInfo, itemsBefore: Int?) -> PageInfo {
        largestPage = max(largestPage, info.itemCount)
        var info = info
        info.itemsBefore = itemsBefore
        info.largestPage = largestPage
        info.lastTotal = totalCount
        return info
    }

    private func span(
        of info: PageInfo,
        from start: PageStart,
        receivedCount: Int,
        _ rules: ListRules<Item>
    ) -> PageSpan {
        let (rows, expectation) = (insertedRows.count, rules.strategy.expectation(after: info))
        return PageSpan(start: start, receivedCount: receivedCount, rowCount: rows, expectation: expectation)
    }

    /// More is known of the pages before the last one.
    private mutating func updateExpectation(_ strategy: any PageStrategy) {
        guard let lastInfo else { return }
        let received = pages.receivedCount - changeSinceLastInfo - lastInfo.itemCount
        let info = completed(lastInfo, itemsBefore: itemsBefore?.addingClamped(received))
        if !pages.isEmpty { pages[pages.count - 1].expectation = strategy.expectation(after: info) }
    }

    private mutating func recordFirst(_ info: PageInfo, strategy: any PageStrategy) {
        let named = try? strategy.position(before: completed(info, itemsBefore: nil))
        let moved = strategy.position(before: PageStart(info.position), pageSize: largestPage)
        let isKnown = visited.contains(info.position) && !visited.haveMoved
        let known = visited.position(before: info.position, named: named)
        previous = isKnown ? known : named ?? (visited.haveMoved ? moved : nil)
        if previous == info.position { previous = nil }
        if previous == nil { itemsBefore = 0 }
        visited.insert(info.position, after: previous)
    }

    private mutating func setNext(after info: PageInfo, isKnown: Bool?, rules: ListRules<Item>) {
        blockedReason = nil
        do throws(PageStrategyError) {
            nextStart = try rules.strategy.position(after: info).map { PageStart($0) }
            detectRepeats(info, isKnown: isKnown)
        } catch {
            nextStart = PageStart(info.position)
            blockedReason = error.description
        }
    }

    /// Whether the list has had all items of a page before; `nil` if that says nothing about the server.
    private mutating func isKnown(_ newItems: [Item], _ rules: ListRules<Item>) -> Bool? {
        guard !newItems.isEmpty, rules.itemID != nil else { return nil }
        guard insertedRows.isEmpty, insertedCount > 0 else { return insertedRows.isEmpty }
        // The app may have inserted them.
        insertedCount = max(0, insertedCount - newItems.count)
        return nil
    }

    private mutating func setPrevious(before info: PageInfo, strategy: any PageStrategy) {
        if visited.haveMoved {
            previous = strategy.position(before: PageStart(info.position), pageSize: largestPage)
        } else {
            if pages.count > 1 { visited.insert(pages[1].position, after: info.position) }
            previous = visited.position(before: info.position, named: try? strategy.position(before: info))
        }
        itemsBefore = previous == nil ? 0 : info.itemsBefore
        visited.insert(info.position, after: previous)
    }

    /// A page of this size reaches the first page from the new position.
    private mutating func movePreviousCloser(pageSize: Int) {
        guard case .offset(let offset)? = firstPosition else { return }
        largestPage = max(largestPage, pageSize)
        // The dropped pages had other positions.
        visited.removeAll(before: .offset(offset))
        previous = .offset(offset - pageSize)
        visited.insert(.offset(offset), after: previous)
    }

    /// Compares the `id` of items, or else the bytes of the pages.
    private func isRepetition(_ newItems: [Item], of info: PageInfo, hasIDs: Bool) -> Bool {
        // With an ItemID, no item is added twice.
        guard !hasIDs, !newItems.isEmpty else { return false }
        if info.response.body == repeatDetector.newestBody { return true }
        guard let identity = ItemID<Item>.ofIdentifiable else { return false }
        return items.suffix(newItems.count).elementsEqual(newItems, by: identity.areSame)
    }

    /// Whether the app has left out items of a page that is not a repetition by its bytes, nor by the total.
    private func isLeftOut(_ newItems: [Item], of info: PageInfo) -> Bool {
        guard newItems.count < info.itemCount, info.response.body != repeatDetector.newestBody else {
            return false
        }
        return info.totalItems.map { (itemsBefore ?? 0).addingClamped(pages.receivedCount) < $0 } ?? true
    }

    /// Blocks ``next`` if it has been visited before, or if pages are repeated.
    private mutating func detectRepeats(_ info: PageInfo, isKnown: Bool?) {
        repeatDetector.record(info, hasNewRows: !insertedRows.isEmpty, isKnown: isKnown)
        if let next, visited.contains(next) {
            blockedReason = "the server names a next page that it has named before"
        } else if repeatDetector.isRepeating {
            blockedReason = "the server sends the same page repeatedly"
        }
    }
}
