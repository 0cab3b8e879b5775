/// The state machine of a paged list: its pages, the state of each side, and the page that is loading.
///
/// Independent of requests. Only the load that is `pending` changes the list, so a page of a superseded or cancelled load is
/// ignored.
struct PagedList<Item> {
    private(set) var loaded = LoadedPages<Item>()
    private(set) var refreshState = PageLoadState.idle
    private(set) var appendState = PageLoadState.idle
    private(set) var prependState = PageLoadState.idle
    private(set) var followUp: ListPart?
    private(set) var pending: PendingPage?
    /// `nil` after a refresh of all pages.
    private(set) var lastPageLoad: RequestID?
    // How often edits have made the load request the same part again.
    private var repeatCount = 0
    // How often edits of items that the list does not have have done so.
    private var absentCount = 0
    // How many successive previous pages have added no row.
    private var emptyPreviousRun = 0
    // The parameters of the loaded pages, and those of the newest reload, which may have failed.
    private(set) var loadedInput = LoadInput.paramSource
    private(set) var reloadInput = LoadInput.paramSource
    private(set) var refreshesAll = false
    // What edits have replaced since a page was requested that is not requested once more.
    private var replaced: [Item] = []
    // The account and environment of the loaded pages, and of those of a refresh.
    private var session: UserSession?
    private var stagedSession: UserSession?
    // The pages that a refresh of all pages has received so far.
    private(set) var staged = LoadedPages<Item>()
    // When the first of each was received.
    private(set) var loadedSince: Duration?
    private var stagedSince: Duration?

    /// Whether the list has been edited before each of so many responses that the part is not requested again.
    var isEditedTooOften: Bool { repeatCount > 10 }

    /// Replaces the load that is pending; returns the position of the page to request.
    mutating func begin(
        _ requested: ListPart,
        id: RequestID,
        strategy: any PageStrategy,
        input: LoadInput = .paramSource,
        session: UserSession
    ) -> PagePosition {
        // The list may have been edited since the follow-up was returned, or another load begun.
        let continued = followUp ?? (staged.pageCount == 0 ? .all : .remaining)
        let part =
            switch requested {
            case .first, .all: requested
            case .remaining: stagedSession?.isOfSameAccount(as: session) == true ? continued : .first
            case .next, .prefetch, .previous: loaded.pageCount == 0 || hasPages(of: session) ? requested : .first
            }
        let position = position(of: part) ?? strategy.start
        // A hook of this load began the pending one, which is newer.
        if let pending, pending.id > id { return position }
        if let pending { setState(of: pending.part, to: .idle) }
        if followUp != part { (repeatCount, absentCount) = (0, 0) }
        if let followUp { setState(of: followUp, to: .idle) }
        (followUp, replaced) = (nil, [])
        if part != .remaining { staged = LoadedPages() }
        pending = PendingPage(id: id, part: part, position: position, input: input, session: session)
        if part == .first { reloadInput = input }
        setState(of: part, to: .loading)
        if part == .first || part == .all { refreshesAll = part == .all }
        if part == .all { staged = LoadedPages(replacing: loaded) }
        return position
    }

    /// The app may leave out some of the items.
    mutating func didReceive(_ itemCount: Int, of id: RequestID) {
        if pending?.id == id { pending?.itemCount = itemCount }
    }

    /// Returns the position of the page to request if edits have made the response out of date; a refresh begins again.
    mutating func repeatPage(of id: RequestID, after error: APIError?) -> PagePosition? {
        guard var page = pending, page.id == id, page.isOutdated(after: error) else { return nil }
        if page.part == .remaining { page.part = .all }
        page.position = position(of: page.part) ?? page.position
        (page.isOutdated, page.isTotalOutdated) = (false, false)
        (pending, replaced) = (page, [])
        repeatCount += 1
        if page.part == .all { staged = LoadedPages(replacing: loaded) }
        return page.position
    }

    /// An edit that the server has as well makes a page that is loading out of date if that may begin elsewhere now, or have
    /// been sent without the edit: a previous page may replace the pages below it.
    mutating func apply(_ edit: ListEdit<Item>, rules: ListRules<Item>) {
        let (next, total) = (loaded.nextStart, loaded.totalCount)
        let isKept = edit.isOnServer && keepReplacement(edit, rules)
        loaded.apply(edit, rules: rules)
        guard edit.isOnServer, !isKept else { return }
        if loaded.totalCount != total { pending?.isTotalOutdated = true }
        outdatePending(next: loaded.nextStart != next, previous: loaded.isReplaceable(rules.strategy))
    }

    /// Returns whether the item is replaced in the pages of a refresh instead: after a few repetitions, because the events of a
    /// server may come more often than it responds.
    private mutating func keepReplacement(_ edit: ListEdit<Item>, _ rules: ListRules<Item>) -> Bool {
        guard repeatCount >= 3, case .replace(let item) = edit.change, pending?.isOutdated != true,
            pending.map({ [.first, .all, .remaining].contains($0.part) }) ?? (followUp == .remaining),
            let identity = rules.itemID ?? .ofIdentifiable, identity.areSame(loaded.items[edit.row], item)
        else { return false }
        let known = replaced.firstIndex { identity.areSame($0, item) } ?? replaced.endIndex
        replaced.replaceSubrange(known..<min(known + 1, replaced.count), with: [item])
        for row in staged.items.indices where identity.areSame(staged.items[row], item) {
            staged.apply(ListEdit(change: .replace(item), row: row, isOnServer: true), rules: rules)
        }
        return true
    }

    private func withReplacements(_ items: [Item], _ rules: ListRules<Item>) -> [Item] {
        guard !replaced.isEmpty, let identity = rules.itemID ?? .ofIdentifiable else { return items }
        return items.map { item in replaced.first { identity.areSame($0, item) } ?? item }
    }

    func isLoading(_ id: RequestID) -> Bool { pending?.id == id }
    /// Whether the load replaces the list.
    func isFirstPage(_ id: RequestID) -> Bool {
        isLoading(id) && pending?.part == .first && pending?.isOutdated == false
    }

    /// An edit of an item that the list does not have makes a page that is loading out of date, which may have it.
    ///
    /// A few times for each load: an app may apply the events of many lists to each of them, more often than the server
    /// responds.
    mutating func applyToAbsentItem() {
        guard absentCount < 3, pending.map({ !$0.isOutdated }) ?? (followUp == .remaining) else { return }
        absentCount += 1
        outdatePending(next: true, previous: true)
    }

    private mutating func outdatePending(next: Bool, previous: Bool) {
        switch pending?.part {
        case .first, .all, .remaining: pending?.isOutdated = true
        case .next, .prefetch: if next { pending?.isOutdated = true }
        case .previous: if previous { pending?.isOutdated = true }
        // Between two pages of a refresh.
        case nil: if followUp == .remaining { loadAgain(.remaining) }
        }
    }

    mutating func accept<Page: PageResponse>(
        _ page: Page,
        in response: APIResponse,
        of id: RequestID,
        rules: ListRules<Item>
    ) -> ListChange? where Page.Item == Item {
        guard let received = takePending(id) else { return nil }
        if [.first, .next, .prefetch].contains(received.part) { lastPageLoad = id }
        var info = PageInfo(page, itemCount: received.itemCount, at: received.position, in: response)
        info.isTotalOutdated = received.isTotalOutdated
        defer {
            info.json.discard()
            replaced = []
        }
        // A page that is added has those of the list already.
        loadedInput = received.input
        switch received.part {
        case .first:
            (loaded, session, loadedSince) = (LoadedPages(), received.session, response.receivedAt)
            loaded.append(withReplacements(page.items, rules), info: info, rules: rules)
            resetStates()
            return .reload
        case .all, .remaining:
            stagedSession = received.session
            if received.part == .all { stagedSince = response.receivedAt }
            let change = stage(withReplacements(page.items, rules), info: info, rules: rules)
            if followUp == .first { reloadInput = received.input }
            return change
        case .next: return append(page.items, info: info, rules: rules)
        case .prefetch:
            let change = append(page.items, info: info, rules: rules)
            // Without a new row, no row can appear that would request the next page.
            if 1..<3 ~= loaded.emptyPageRun, loaded.next != nil { followUp = .prefetch }
            return change
        case .previous:
            let change = prepend(page.items, info: info, rules: rules)
            if followUp == nil { followUp = followUpOfPreviousPage() }
            return change
        }
    }

    /// Without a new row, no row can appear that would request the page before; without any row, no page at all.
    private mutating func followUpOfPreviousPage() -> ListPart? {
        emptyPreviousRun = loaded.insertedRows.isEmpty ? emptyPreviousRun + 1 : 0
        if loaded.items.isEmpty, loaded.next != nil { return .prefetch }
        return 1..<3 ~= emptyPreviousRun && loaded.previous != nil ? .previous : nil
    }

    mutating func end(of id: RequestID) -> ListChange? {
        guard let ended = takePending(id) else { return nil }
        // The list has become shorter than the pages before it.
        guard ended.part != .all else {
            reloadInput = ended.input
            loadAgain(.first)
            return nil
        }
        lastPageLoad = id
        guard ended.part != .remaining else {
            staged.end()
            return replaceByStaged()
        }
        loaded.end()
        appendState = .end
        return .rows(inserted: loaded.insertedRows, removed: 0..<0)
    }

    /// The list has what was wanted: no refresh of something else replaces it, or is tried again.
    mutating func keepLoadedPages() {
        if isRefreshing { pending = nil }
        (followUp, staged, refreshState, refreshesAll) = (nil, LoadedPages(), .idle, false)
        reloadInput = loadedInput
    }

    /// Items and positions do not change.
    mutating func fail(_ id: RequestID, with error: APIError) -> ListChange? {
        guard let failed = pending, failed.id == id else { return nil }
        (pending, repeatCount, absentCount, replaced) = (nil, 0, 0, [])
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

    private func hasPages(of session: UserSession) -> Bool { self.session?.isOfSameAccount(as: session) == true }

    /// The load of the part can no longer be continued.
    private mutating func loadAgain(_ part: ListPart) {
        repeatCount += 1
        followUp = part == .remaining ? .all : part
    }

    /// Returns `nil` if the load is not pending, or is loaded again because of an edit.
    private mutating func takePending(_ id: RequestID) -> PendingPage? {
        guard let page = pending, page.id == id else { return nil }
        pending = nil
        guard page.isOutdated else { return page }
        loadAgain(page.part)
        return nil
    }

    /// Keeps a page of a refresh of all pages until the last one has been received.
    private mutating func stage(_ items: [Item], info: PageInfo, rules: ListRules<Item>) -> ListChange? {
        staged.append(items, info: info, rules: rules)
        guard staged.pageCount > 0, !staged.items.isEmpty || staged.next != nil || staged.previous == nil else {
            loadAgain(.first)
            return nil
        }
        let isComplete = staged.pageCount >= loaded.pageCount || staged.pagesWithRows >= rules.maxPages ?? .max
        guard isComplete || staged.next == nil else {
            followUp = .remaining
            return nil
        }
        return replaceByStaged()
    }

    private mutating func replaceByStaged() -> ListChange {
        (loaded, session, loadedSince) = (staged, stagedSession, stagedSince)
        lastPageLoad = nil
        staged = LoadedPages()
        resetStates()
        return .reload
    }

    private mutating func append(_ items: [Item], info: PageInfo, rules: ListRules<Item>) -> ListChange {
        loaded.append(items, info: info, rules: rules)
        let removed = loaded.dropFirstPages(rules)
        appendState = loaded.next == nil ? .end : .idle
        if loaded.previous == nil, prependState.isIdle { prependState = .end }
        if loaded.previous != nil, prependState.isEnd { prependState = .idle }
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
        if loaded.next == nil { appendState = .end } else if appendState.isEnd { appendState = .idle }
        let removed = dropped.lowerBound - count..<dropped.upperBound - count
        return .rows(inserted: loaded.insertedRows, removed: removed)
    }

    private mutating func resetStates() {
        emptyPreviousRun = 0
        refreshState = .idle
        appendState = loaded.next == nil ? .end : .idle
        prependState = loaded.previous == nil ? .end : .idle
    }
}

extension PagedList {
    /// Pages of another account or environment than that of the loaded pages do not follow them: the list is loaded again.
    func decision(
        for part: ListPart,
        in session: UserSession,
        isActive: (RequestID) -> Bool
    ) -> PageLoadDecision {
        if let pending, isActive(pending.id), part != .first || pending.part == .first { return .join(pending.id) }
        if part == .first || loaded.pageCount > 0 && !hasPages(of: session) { return .begin(.first) }
        // A refresh of all pages is between two of its pages.
        if let followUp { return .begin(followUp) }
        if loaded.pageCount == 0 { return .begin(.first) }
        let position = part == .previous ? loaded.previous : loaded.next
        return position == nil ? .skip : .begin(part)
    }

    /// Whether a load is pending that replaces the list, alone or with others.
    var isRefreshing: Bool { pending.map { [.first, .all, .remaining].contains($0.part) } ?? false }

    /// Of the loaded pages; `nil` for those of another account or environment.
    func path(in session: UserSession) -> String? { hasPages(of: session) ? loadedInput.path : nil }

    /// A page that is added to the list has the parameters of the loaded pages.
    func input(of part: ListPart) -> LoadInput {
        part == .first || loaded.pageCount == 0 ? reloadInput : loadedInput
    }

    /// A refresh before the next page, and that before the previous one.
    var failedPart: ListPart? {
        if refreshState.error != nil { return refreshesAll ? .all : .first }
        if appendState.error != nil { return .next }
        return prependState.error == nil ? nil : .previous
    }

    func ends(with error: APIError, of id: RequestID) -> Bool {
        guard let pending, pending.id == id, error.type == .http, error.status == 404 else { return false }
        if pending.part == .all { return loaded.previous != nil }
        return pages(before: pending.part)?.endsWithoutNext == true
    }

    func blockedReason(for part: ListPart) -> String? { pages(before: part)?.blockedReason }

    private func pages(before part: ListPart) -> LoadedPages<Item>? {
        switch part {
        case .next, .prefetch: loaded
        case .remaining: staged
        case .first, .all, .previous: nil
        }
    }

    func position(of part: ListPart) -> PagePosition? {
        switch part {
        case .first: nil
        case .all: loaded.firstPosition
        case .remaining: staged.next
        case .next, .prefetch: loaded.next
        case .previous: loaded.previous
        }
    }
}

/// The page of a list that is loading.
struct PendingPage {
    let id: RequestID
    var part: ListPart
    var position: PagePosition
    let input: LoadInput
    let session: UserSession
    /// The number of items that the server has sent; `nil` before that.
    var itemCount: Int?
    /// Whether the list has been edited since the page was requested, and its response may not have the edit.
    var isOutdated = false
    /// Whether an edit since the request has changed the number of items of the whole list.
    var isTotalOutdated = false

    func isOutdated(after error: APIError?) -> Bool {
        // An edit may have moved the position to where the server has a page.
        isOutdated && (error == nil || error?.type == .http && error?.status == 404)
    }
}
