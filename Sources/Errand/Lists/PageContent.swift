import Foundation

/// The loaded pages of a list as one run of items, and the ways on from both of its ends; it knows nothing of loads.
struct PageContent<Item> {
    /// A page that is in the list.
    private struct Loaded {
        let position: PagePosition
        /// How many items the server sent, and how many of them are shown.
        let sent: Int
        let rows: Int
        /// What is to be expected behind the page.
        var expectation: PageExpectation
    }

    private(set) var totalCount: Int?
    private(set) var next: PagePosition?
    private(set) var previous: PagePosition?
    /// Where the items of the newest page stand.
    private(set) var insertedRows = 0..<0
    /// More pages in a row than this without a new item are not the gaps of a filter.
    private static var barrenLimit: Int { 100 }

    /// Why it makes no sense to ask for ``next``.
    private(set) var deadEnd: String?
    /// How many pages in a row have brought nothing new.
    private(set) var barrenPages = 0

    private var run = ItemRun<Item>()
    private var loaded: [Loaded] = []
    // The position in front of each position up to the last page, dropped pages included: the way back, and what a server
    // that goes in circles comes back to.
    private var trail: [PagePosition: PagePosition?] = [:]
    private var newestBody = Data()
    private var repeats = 0
    // The last page; `nil` when the one that was behind it has been dropped.
    private var lastFacts: PageFacts?
    // How many items the server has sent in front of the first page, where that is known, and in the pages.
    private var sentBefore: Int?
    private var sent = 0
    private var largestPage = 0

    /// The items of all pages.
    var items: [Item] { run.items }
    /// How many pages there are.
    var pageCount: Int { loaded.count }
    /// Where the first page stands.
    var first: PagePosition? { loaded.first?.position }
    /// Whether the list ends when the server has no page at ``next``.
    var endsWithoutNext: Bool { loaded.last.map { $0.expectation != .more } ?? false }
    private var endsByRepeat: Bool { lastFacts != nil && loaded.last?.expectation == .end }

    init() {}

    /// No pages yet, but those that can be asked for in front of `old`'s first page.
    init(inPlaceOf old: PageContent) {
        sentBefore = old.sentBefore
        var position = old.first
        while let known = position, trail[known] == nil, let before = old.trail[known] {
            trail[known] = before
            position = before
        }
    }

    /// Adds the page that stands behind the others, or the first one.
    ///
    /// An empty page behind the last one is none, nor is a repetition of the last one.
    mutating func append<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ rules: PageRules<Item>
    ) where Page.Item == Item {
        totalCount = page.totalItems
        let start = items.count
        if !isRepetition(facts, rules) { run.append(page.items, rules.itemID) }
        insertedRows = start..<items.count
        guard !endsByRepeat || !insertedRows.isEmpty else { return end() }
        if loaded.isEmpty { enterFirst(facts, rules.strategy) } else { trail[facts.position] = loaded.last?.position }
        let facts = counted(facts, before: sentBefore?.addingClamped(sent))
        setNext(behind: facts, rules)
        guard next != nil || facts.itemCount > 0 || loaded.isEmpty else {
            trail[facts.position] = nil
            return
        }
        enter(facts, rules.strategy, at: loaded.endIndex)
        lastFacts = facts
    }

    /// Adds the page that stands in front of the others.
    ///
    /// - Returns: False for a page that does not reach the others: it is not added, and ``previous`` moves closer to them.
    mutating func prepend<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ rules: PageRules<Item>
    ) -> Bool where Page.Item == Item {
        totalCount = page.totalItems
        let gap = first?.items(behind: facts.position) ?? facts.itemCount
        let count = items.count
        if facts.itemCount > 0, facts.itemCount < gap {
            insertedRows = 0..<0
            moveCloser(facts)
            return false
        }
        run.prepend(facts.itemCount > gap ? Array(page.items.prefix(gap)) : page.items, rules.itemID)
        insertedRows = 0..<items.count - count
        let facts = counted(facts, before: sentBefore.map { max(0, $0 - min(facts.itemCount, gap)) })
        enter(facts, rules.strategy, at: 0, sent: min(facts.itemCount, gap))
        setPrevious(before: facts, rules.strategy)
        updateExpectation(rules.strategy)
        return true
    }

    /// Ends the list behind the last page.
    mutating func end() {
        next = nil
        deadEnd = nil
        insertedRows = items.count..<items.count
    }

    /// Drops the first page or the first pages, so that `limit` are left, and returns the rows that they had.
    mutating func dropFirstPages(leaving limit: Int, _ itemID: ItemID<Item>?) -> Range<Int> {
        let surplus = loaded.prefix(max(0, loaded.count - limit))
        guard let last = surplus.last else { return 0..<0 }
        let rows = 0..<surplus.reduce(0) { $0 + $1.rows }
        run.removeFirst(rows.count, itemID)
        insertedRows = insertedRows.lowerBound - rows.count..<insertedRows.upperBound - rows.count
        previous = last.position
        let dropped = surplus.reduce(0) { $0 + $1.sent }
        sentBefore = sentBefore?.addingClamped(dropped)
        sent -= dropped
        loaded.removeFirst(surplus.count)
        return rows
    }

    /// Drops the last page or the last pages, so that `limit` are left, and returns the rows that they had.
    mutating func dropLastPages(leaving limit: Int, _ itemID: ItemID<Item>?) -> Range<Int> {
        let surplus = loaded.dropFirst(limit)
        guard let first = surplus.first else { return items.count..<items.count }
        let rows = items.count - surplus.reduce(0) { $0 + $1.rows }..<items.count
        run.removeLast(rows.count, itemID)
        for page in surplus { trail[page.position] = nil }
        next = first.position
        deadEnd = nil
        lastFacts = nil
        sent -= surplus.reduce(0) { $0 + $1.sent }
        loaded.removeLast(surplus.count)
        return rows
    }
}

extension PageContent {
    /// These facts with what is known of the pages around.
    private mutating func counted(_ facts: PageFacts, before: Int?) -> PageFacts {
        largestPage = max(largestPage, facts.itemCount)
        var facts = facts
        facts.itemsBefore = before
        facts.largestPage = largestPage
        return facts
    }

    private mutating func enter(_ facts: PageFacts, _ strategy: any PageStrategy, at index: Int, sent: Int? = nil) {
        let count = sent ?? facts.itemCount
        let expectation = strategy.expectation(after: facts)
        let page = Loaded(position: facts.position, sent: count, rows: insertedRows.count, expectation: expectation)
        loaded.insert(page, at: index)
        self.sent += count
    }

    /// Judges the last page again, now that more is known of the pages in front of it.
    private mutating func updateExpectation(_ strategy: any PageStrategy) {
        guard let last = loaded.indices.last, let lastFacts else { return }
        let before = sentBefore?.addingClamped(sent - loaded[last].sent)
        loaded[last].expectation = strategy.expectation(after: counted(lastFacts, before: before))
    }

    private mutating func enterFirst(_ facts: PageFacts, _ strategy: any PageStrategy) {
        let told = try? strategy.position(before: counted(facts, before: nil))
        previous = trail[facts.position] ?? (told == facts.position ? nil : told)
        if previous == nil { sentBefore = 0 }
        trail[facts.position] = .some(previous)
    }

    private mutating func setNext(behind facts: PageFacts, _ rules: PageRules<Item>) {
        deadEnd = nil
        do throws(PageStrategyError) {
            next = try rules.strategy.position(after: facts)
            lookForCircle(facts, hasIDs: rules.itemID != nil)
        } catch {
            next = facts.position
            deadEnd = error.description
        }
    }

    private mutating func setPrevious(before facts: PageFacts, _ strategy: any PageStrategy) {
        if loaded.count > 1 { trail[loaded[1].position] = facts.position }
        let told = try? strategy.position(before: facts)
        // The page before this one is already known: the server goes in circles.
        previous = (trail[facts.position] ?? nil) ?? told.flatMap { trail[$0] == nil ? $0 : nil }
        sentBefore = previous == nil ? 0 : facts.itemsBefore
        trail[facts.position] = .some(previous)
    }

    /// Looks for the items in front at the position from which a page of this size reaches the first page.
    private mutating func moveCloser(_ facts: PageFacts) {
        guard let first, let previous = first.moved(by: -facts.itemCount) else { return }
        largestPage = max(largestPage, facts.itemCount)
        // The pages that were dropped had other positions.
        var known = trail[first] ?? nil
        while let position = known { known = trail.removeValue(forKey: position) ?? nil }
        self.previous = previous
        trail[first] = .some(previous)
    }

    /// Whether the page holds the same items as the last one, behind which nothing is expected.
    private func isRepetition(_ facts: PageFacts, _ rules: PageRules<Item>) -> Bool {
        endsByRepeat && rules.itemID == nil && facts.response.body.hasSameItems(as: newestBody, count: facts.itemCount)
    }

    /// Recognises a position that the list has come by before, and pages that bring nothing new again and again.
    private mutating func lookForCircle(_ facts: PageFacts, hasIDs: Bool) {
        barrenPages = insertedRows.isEmpty ? barrenPages + 1 : 0
        let isRepeat = hasIDs ? insertedRows.isEmpty : facts.response.body == newestBody
        repeats = isRepeat && facts.itemCount > 0 ? repeats + 1 : 0
        newestBody = facts.response.body
        if let next, trail[next] != nil {
            deadEnd = "the server names a page as the next one that it has given before"
        } else if repeats >= 3 || barrenPages >= Self.barrenLimit {
            deadEnd = "the server sends the same page again and again"
        }
    }
}

extension PagePosition {
    /// How many items there are from `other` to this position, where both count items.
    fileprivate func items(behind other: PagePosition) -> Int? {
        guard case .offset(let offset) = self, case .offset(let start) = other, offset > start else { return nil }
        return offset - start
    }

    fileprivate func moved(by count: Int) -> PagePosition? {
        guard case .offset(let offset) = self else { return nil }
        return .offset(offset + count)
    }
}
