/// The states of a paged list and the rules between them; it knows nothing of requests.
///
/// Only the load that is `pending` may change the list, so a page of an older generation, or of a cancelled load, falls away
/// by itself.
struct PagedList<Item> {
    /// The one page that is under way.
    private struct Pending {
        let id: RequestID
        let part: ListPart
        let position: PagePosition
    }

    private(set) var content = PageContent<Item>()
    private(set) var refreshState = PageLoadState.idle
    private(set) var appendState = PageLoadState.idle
    private(set) var prependState = PageLoadState.idle
    /// What is to be loaded now because of what has come.
    private(set) var followUp: ListPart?
    private var pending: Pending?
    private var refreshesAll = false
    // What a refresh of all pages has brought so far.
    private var staged = PageContent<Item>()

    /// Returns how to obtain a part of the list now.
    func decision(for part: ListPart, isActive: (RequestID) -> Bool) -> PageLoadDecision {
        if let pending, isActive(pending.id) { return .join(pending.id) }
        if content.pageCount == 0 { return .begin(.first) }
        let position = part == .previous ? content.previous : content.next
        return position == nil ? .skip : .begin(part)
    }

    /// What asks again for the page that did not come; the refresh before the append, the append before what is in front.
    var failedPart: ListPart? {
        if refreshState.error != nil { return refreshesAll ? .all : .first }
        if appendState.error != nil { return .next }
        return prependState.error == nil ? nil : .previous
    }

    /// Begins a load, which takes the place of the one that is under way.
    ///
    /// - Returns: The position of the page that it asks for.
    mutating func begin(_ part: ListPart, _ id: RequestID, strategy: any PageStrategy) -> PagePosition {
        let position = position(of: part) ?? strategy.start
        // Begun by a hook of this load, and newer.
        if let pending, pending.id > id { return position }
        giveUp()
        followUp = nil
        if part != .remaining { staged = PageContent() }
        pending = Pending(id: id, part: part, position: position)
        setState(of: part, to: .loading)
        if part == .first || part == .all { refreshesAll = part == .all }
        if part == .all { staged = PageContent(inPlaceOf: content) }
        return position
    }

    /// Whether the list ends, instead of failing, with this error of a load.
    func ends(with error: APIError, for id: RequestID) -> Bool {
        guard let pending, pending.id == id, error.type == .http, error.status == 404 else { return false }
        return switch pending.part {
        case .next, .prefetch: content.endsWithoutNext
        case .remaining: staged.endsWithoutNext
        case .first, .all, .previous: false
        }
    }

    /// Why a part must not be asked for, because of what the server has sent so far.
    func deadEnd(of part: ListPart) -> String? {
        switch part {
        case .next, .prefetch: content.deadEnd
        case .remaining: staged.deadEnd
        case .first, .all, .previous: nil
        }
    }

    /// A page has come.
    mutating func accept<Page: PageResponse>(
        _ page: Page,
        _ response: APIResponse,
        for id: RequestID,
        _ rules: PageRules<Item>
    ) -> PageChange? where Page.Item == Item {
        guard let arrived = pending, arrived.id == id else { return nil }
        pending = nil
        let facts = PageFacts(page, at: arrived.position, response)
        switch arrived.part {
        case .first: return restart(page, facts, rules)
        case .all, .remaining: return stage(page, facts, rules)
        case .next, .prefetch: return append(page, facts, rules, mustBringRows: arrived.part == .prefetch)
        case .previous: return prepend(page, facts, rules)
        }
    }

    /// The server has no such page: the list ends in front of it.
    mutating func end(for id: RequestID) -> PageChange? {
        guard let ended = pending, ended.id == id else { return nil }
        pending = nil
        guard ended.part != .remaining else {
            staged.end()
            return replaceByStaged()
        }
        content.end()
        appendState = .end
        return .rows(inserted: content.insertedRows, removed: 0..<0)
    }

    /// A page has not come; items and position stay as they are.
    mutating func fail(_ error: APIError, for id: RequestID) -> PageChange? {
        guard let failed = pending, failed.id == id else { return nil }
        pending = nil
        staged = PageContent()
        let isCancelled = error.type == .cancelled
        setState(of: failed.part, to: isCancelled ? .idle : .failed(error))
        return isCancelled ? nil : .failure(error)
    }
}

extension PagedList {
    private func position(of part: ListPart) -> PagePosition? {
        switch part {
        case .first: nil
        case .all: content.first
        case .remaining: staged.next
        case .next, .prefetch: content.next
        case .previous: content.previous
        }
    }

    private mutating func setState(of part: ListPart, to state: PageLoadState) {
        switch part {
        case .first, .all, .remaining: refreshState = state
        case .next, .prefetch: appendState = state
        case .previous: prependState = state
        }
    }

    /// What is under way counts no more.
    private mutating func giveUp() {
        guard let pending else { return }
        setState(of: pending.part, to: .idle)
        self.pending = nil
    }

    private mutating func restart<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ rules: PageRules<Item>
    ) -> PageChange where Page.Item == Item {
        content = PageContent()
        content.append(page, facts, rules)
        settleAll()
        return .reload
    }

    /// Keeps a page of a refresh of all pages until the last one has come.
    private mutating func stage<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ rules: PageRules<Item>
    ) -> PageChange? where Page.Item == Item {
        staged.append(page, facts, rules)
        guard staged.pageCount >= content.pageCount || staged.next == nil else {
            followUp = .remaining
            return nil
        }
        return replaceByStaged()
    }

    private mutating func replaceByStaged() -> PageChange {
        content = staged
        staged = PageContent()
        settleAll()
        return .reload
    }

    private mutating func append<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ rules: PageRules<Item>,
        mustBringRows: Bool
    ) -> PageChange where Page.Item == Item {
        content.append(page, facts, rules)
        let removed = rules.maxPages.map { content.dropFirstPages(leaving: $0, rules.itemID) } ?? 0..<0
        appendState = content.next == nil ? .end : .idle
        if prependState.isEnd, content.previous != nil { prependState = .idle }
        // A row that appeared asked for this page; without new rows there is none that could ask for the next.
        if mustBringRows, 1..<3 ~= content.barrenPages, content.next != nil { followUp = .prefetch }
        return .rows(inserted: content.insertedRows, removed: removed)
    }

    private mutating func prepend<Page: PageResponse>(
        _ page: Page,
        _ facts: PageFacts,
        _ rules: PageRules<Item>
    ) -> PageChange where Page.Item == Item {
        guard content.prepend(page, facts, rules) else {
            followUp = .previous
            return .rows(inserted: 0..<0, removed: 0..<0)
        }
        let count = content.insertedRows.count
        let dropped = rules.maxPages.map { content.dropLastPages(leaving: $0, rules.itemID) } ?? count..<count
        prependState = content.previous == nil ? .end : .idle
        if appendState.isEnd, content.next != nil { appendState = .idle }
        let removed = dropped.lowerBound - count..<dropped.upperBound - count
        return .rows(inserted: content.insertedRows, removed: removed)
    }

    private mutating func settleAll() {
        refreshState = .idle
        appendState = content.next == nil ? .end : .idle
        prependState = content.previous == nil ? .end : .idle
    }
}
