/// The state machine of a paged list: its pages, the state of each side, and the page that is loading.
///
/// Independent of requests. Only the load that is `pending` changes the list, so a page of a superseded or cancelled load is
/// ignored.
struct PagedList<Item> {
    private(set) var loaded = LoadedPages<Item>()
    private(set) var refreshState = PageLoadState.idle
    private(set) var appendState = PageLoadState.idle
    private(set) var prependState = PageLoadState.idle
    /// The part to load next, because of the pages received so far.
    private(set) var followUp: ListPart?
    private(set) var pending: PendingPage?
    /// The load that has added the last page; `nil` after a refresh of all pages.
    private(set) var lastPageLoad: RequestID?
    // The repeats of the part that follows up.
    private var repeatCount = 0
    // The parameters of the loaded pages, and those of the newest reload, which may have failed.
    private(set) var loadedParams = LoadParams.paramSource
    private(set) var reloadParams = LoadParams.paramSource
    private(set) var refreshesAll = false
    // The pages that a refresh of all pages has received so far.
    private(set) var staged = LoadedPages<Item>()
    private var edits = RefreshEdits<Item>()

    /// Begins a load, which replaces the one that is pending.
    ///
    /// - Returns: The position of the page to request.
    mutating func begin(
        _ requested: ListPart,
        id: RequestID,
        strategy: any PageStrategy,
        params: LoadParams = .paramSource
    ) -> PagePosition {
        // The list may have been edited since the follow-up was returned, or another load begun.
        let continued = followUp ?? (staged.pageCount == 0 ? .all : .remaining)
        let part = requested == .remaining ? continued : requested
        let position = position(of: part) ?? strategy.start
        // A hook of this load began the pending one, which is newer.
        if let pending, pending.id > id { return position }
        abandonPending()
        edits.begin(isFollowUp: followUp == part)
        if followUp != part { repeatCount = 0 }
        if let followUp { setState(of: followUp, to: .idle) }
        followUp = nil
        if part != .remaining { staged = LoadedPages() }
        pending = PendingPage(id: id, part: part, position: position, params: params, repeatCount: repeatCount)
        if part == .first { reloadParams = params }
        setState(of: part, to: .loading)
        if part == .first || part == .all { refreshesAll = part == .all }
        if part == .all { staged = LoadedPages(replacing: loaded) }
        return position
    }

    /// Records that the page of a load is being requested again.
    ///
    /// - Returns: False when the load is no longer the one that is pending; the page must not be requested then.
    mutating func recordRepeat(of page: PendingPage) -> Bool {
        guard pending?.id == page.id else { return false }
        pending = page
        if page.part == .all { staged = LoadedPages(replacing: loaded) }
        if page.part.isRefresh { edits.repeatRefresh() }
        return true
    }

    /// Changes one row.
    mutating func apply(_ edit: ListEdit<Item>, rules: ListRules<Item>) {
        let next = loaded.nextStart
        let isBetweenLoads = pending == nil && followUp == .remaining
        if edit.isOnServer, isBetweenLoads || pending?.part.isRefresh == true { edits.append(edit, of: loaded) }
        loaded.apply(edit, rules: rules)
        guard edit.isOnServer else { return }
        switch pending?.part {
        case .first, .all, .remaining: if edits.allowsRepeat { pending?.isOutdated = true }
        case .next, .prefetch: if loaded.nextStart != next { pending?.isOutdated = true }
        case nil: if isBetweenLoads { refreshAgain(rules: rules) }
        case .previous: break
        }
    }

    /// Adds a page that has been received.
    mutating func accept<Page: PageResponse>(
        _ page: Page,
        in response: APIResponse,
        of id: RequestID,
        rules: ListRules<Item>
    ) -> ListChange? where Page.Item == Item {
        guard let received = pending, received.id == id else { return nil }
        pending = nil
        guard !received.isOutdated else { return requestAgain(received) }
        if [.first, .next, .prefetch].contains(received.part) { lastPageLoad = id }
        let info = PageInfo(page, at: received.position, in: response)
        defer { info.json.discard() }
        // A page that is added has those of the list already.
        loadedParams = received.params
        switch received.part {
        case .first: return replace(with: page.items, info: info, rules: rules)
        case .all, .remaining: return stage(page.items, info: info, rules: rules)
        case .next: return append(page.items, info: info, rules: rules)
        case .prefetch:
            let change = append(page.items, info: info, rules: rules)
            // Without a new row, no row can appear that would request the next page.
            if 1..<3 ~= loaded.emptyPageRun, loaded.next != nil { followUp = .prefetch }
            return change
        case .previous: return prepend(page.items, info: info, rules: rules)
        }
    }

    /// Ends the list before the requested page, which does not exist.
    mutating func end(of id: RequestID, rules: ListRules<Item>) -> ListChange? {
        guard let ended = pending, ended.id == id else { return nil }
        pending = nil
        guard !ended.isOutdated else { return requestAgain(ended) }
        lastPageLoad = id
        guard ended.part != .remaining else {
            if edits.keepsNext(applyingTo: &staged, rules) { staged.end() }
            return replaceByStaged()
        }
        loaded.end()
        appendState = .end
        return .rows(inserted: loaded.insertedRows, removed: 0..<0)
    }

    /// Records that a page could not be loaded; items and positions do not change.
    mutating func fail(_ id: RequestID, with error: APIError) -> ListChange? {
        guard let failed = pending, failed.id == id else { return nil }
        pending = nil
        staged = LoadedPages()
        let isCancelled = error.type == .cancelled
        setState(of: failed.part, to: isCancelled ? .idle : .failed(error))
        return isCancelled ? nil : .failure(error)
    }
}

extension PagedList {
    private mutating func setState(of part: ListPart, to state: PageLoadState) {
        switch part {
        case .first, .all, .remaining: refreshState = state
        case .next, .prefetch: appendState = state
        case .previous: prependState = state
        }
    }

    /// Loads a part again that was outdated when its load could no longer be continued.
    private mutating func requestAgain(_ page: PendingPage) -> ListChange? {
        let part = page.part
        // A hook that is read when the page has been accepted may edit the list as well.
        guard page.allowsRepeat else {
            setState(of: part, to: .failed(.editedTooOften))
            return .failure(.editedTooOften)
        }
        repeatCount = page.repeatCount + 1
        staged = LoadedPages()
        if part.isRefresh { edits.repeatRefresh() }
        setState(of: part, to: .idle)
        followUp = part == .remaining ? .all : part
        return nil
    }

    private mutating func abandonPending() {
        guard let pending else { return }
        setState(of: pending.part, to: .idle)
        self.pending = nil
    }

    private mutating func replace(with items: [Item], info: PageInfo, rules: ListRules<Item>) -> ListChange {
        loaded = LoadedPages()
        loaded.append(items, info: info, rules: rules)
        edits.apply(to: &loaded, rules)
        resetStates()
        return .reload
    }

    /// Begins a refresh of all pages again after an edit between two of its loads; if it has been repeated too often, applies
    /// the edit to the pages received so far.
    private mutating func refreshAgain(rules: ListRules<Item>) {
        guard edits.allowsRepeat else { return edits.apply(to: &staged, rules) }
        edits.repeatRefresh()
        followUp = .all
    }

    /// Keeps a page of a refresh of all pages until the last one has been received.
    private mutating func stage(_ items: [Item], info: PageInfo, rules: ListRules<Item>) -> ListChange? {
        // Without the page if the next one begins elsewhere now: no item may be missing.
        guard edits.keepsNext(applyingTo: &staged, rules) else { return replaceByStaged() }
        staged.append(items, info: info, rules: rules)
        edits.apply(to: &staged, rules)
        let isComplete = staged.pageCount >= loaded.pageCount || staged.pagesWithRows >= rules.maxPages ?? .max
        guard isComplete || staged.next == nil else {
            followUp = .remaining
            return nil
        }
        return replaceByStaged()
    }

    private mutating func replaceByStaged() -> ListChange {
        loaded = staged
        lastPageLoad = nil
        staged = LoadedPages()
        resetStates()
        return .reload
    }

    private mutating func append(_ items: [Item], info: PageInfo, rules: ListRules<Item>) -> ListChange {
        loaded.append(items, info: info, rules: rules)
        let removed = loaded.dropFirstPages(rules)
        appendState = loaded.next == nil ? .end : .idle
        if prependState.isEnd, loaded.previous != nil { prependState = .idle }
        return .rows(inserted: loaded.insertedRows, removed: removed)
    }

    private mutating func prepend(_ items: [Item], info: PageInfo, rules: ListRules<Item>) -> ListChange {
        guard loaded.prepend(items, info: info, rules: rules) else {
            followUp = .previous
            return .rows(inserted: 0..<0, removed: 0..<0)
        }
        let count = loaded.insertedRows.count
        let dropped = loaded.dropLastPages(rules)
        if !dropped.isEmpty { lastPageLoad = nil }
        prependState = loaded.previous == nil ? .end : .idle
        if appendState.isEnd, loaded.next != nil { appendState = .idle }
        let removed = dropped.lowerBound - count..<dropped.upperBound - count
        return .rows(inserted: loaded.insertedRows, removed: removed)
    }

    private mutating func resetStates() {
        refreshState = .idle
        appendState = loaded.next == nil ? .end : .idle
        prependState = loaded.previous == nil ? .end : .idle
    }
}
