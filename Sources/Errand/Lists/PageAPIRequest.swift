/// A request whose responses are pages of one list.
///
/// Call ``APIManager/reload(params:indicator:message:)`` to load the first page, and
/// ``APIManager/loadNextPage(indicator:message:)`` to load further pages.
///
/// The server may use another page size than the requested one; this causes no page to be skipped or loaded twice.
///
/// A screen supplies only the parameters of the list; the ``strategy`` adds those of the page. A refresh cancels the load of any
/// other page. If a refresh fails, the list keeps its items and positions; if another page fails, call ``APIManager/retry()`` to
/// load that page again. After the list has changed, the delegate receives the ending of each page like that of any other load.
///
/// The end of the list is determined by the server's responses, never by the requested size alone; see ``PageStrategy``. A 404
/// after the last page also ends the list: its load succeeds without new rows, and ``APIManager/response`` remains the previous
/// page.
///
/// If you edit the list while a load runs, and the server's list contains the edit as well, a refresh begins again, and a page
/// whose position the edit changes, or that may replace the edited one, is requested again; once also for an edit of an item that
/// the list does not have. After ten repeats, the load fails with `invalidResponse`, and the list keeps its items. All repeats of
/// a load share its ``APIRequestOptions/deadline``.
///
/// To protect against a faulty server, the next load fails before it is sent, until the list is reloaded, if:
/// - the link to the next page has another origin than the service (`security`),
/// - the server names a next page that it has already named (`decoding`),
/// - four pages in a row have the same bytes or, with ``itemID``, three pages in a row have items, and no new one (`decoding`), or
/// - a hundred pages in a row add no row (`decoding`).
///
/// In a module whose default isolation is `MainActor`, declare pages and items `nonisolated struct`.
@MainActor open class PageAPIRequest<Page: PageResponse & Sendable>: BaseAPIRequest, PagedManager
where Page.Item: Sendable {
    /// The type to which a response is decoded.
    public typealias Response = Page
    /// The type of an item.
    public typealias Item = Page.Item

    /// Receives changes of the list row by row.
    ///
    /// Not retained.
    public weak var pageObserver: (any PageListObserver)?
    /// The maximum number of pages in the list, not counting pages without rows, at least 1; `nil`, the default, is no maximum.
    ///
    /// When the maximum is reached, a page that adds rows on one side of the list removes a page on the other side. An item of a
    /// removed page may be added again. A page that is loaded again and names another cursor or link than before removes the
    /// pages below it.
    public var maxPages: Int?
    /// The distance in rows from an end of the list at which ``APIManager/itemAppeared(at:)`` loads a page; 5 by default.
    public var prefetchDistance = 5

    private(set) var list = PagedList<Item>()
    var isReloading = false
    /// Whether ``items`` are those of a reload, or edited, so that the pages that follow come from the network.
    private var isReloaded = false
    // The changes of which the observer has not been notified yet; at most one, except inside its methods.
    private var changes: [ListChange] = []

    /// The items of all loaded pages, in their order.
    public var items: [Item] { observed(list.loaded.items) }
    /// The rows of the newest page in ``items``.
    public var insertedRows: Range<Int> { observed(list.loaded.insertedRows) }
    /// The number of pages in ``items``.
    public var pageCount: Int { observed(list.loaded.pageCount) }
    /// The state of a refresh: of the first page, or of all loaded pages.
    public var refreshState: PageLoadState { observed(list.refreshState) }
    /// The state of the next page; `.end` when there is none.
    public var appendState: PageLoadState { observed(list.appendState) }
    /// The state of the previous page; `.end` when there is none.
    public var prependState: PageLoadState { observed(list.prependState) }
    /// The number of items in the whole list, if the server sends it.
    public var totalCount: Int? { observed(list.loaded.totalCount) }
    /// Whether there is a page after the loaded ones; false until the first page has been loaded.
    public var hasMore: Bool { observed(list.loaded.next != nil) }
    /// Whether there is a page before the loaded ones, because the list did not start at its first page or ``maxPages`` has
    /// dropped pages.
    public var hasPrevious: Bool { observed(list.loaded.previous != nil) }

    // MARK: Hooks

    /// How pages are requested; by number from 1 with 20 items each, by default.
    open var strategy: any PageStrategy { .pageNumber() }
    /// The identity of an item, for example `ItemID(\.id)`; `nil`, the default, shows all items.
    ///
    /// With an identity, an item that several pages contain is shown once, in the row where it appeared first.
    open var itemID: ItemID<Item>? { nil }

    override var pager: (any Pager)? { self }

    override func didReset() {
        list = PagedList()
        (isReloading, isReloaded) = (false, false)
        // The rows of changes that the observer has not received are gone.
        changes = [.reload]
        changeCount += 1
        notifyObserver()
    }

    /// Registers the reader of a part of the list for changes.
    private func observed<Value>(_ value: Value) -> Value {
        _ = changeCount
        return value
    }
}

extension PageAPIRequest: Pager {
    var failedPart: ListPart? { list.failedPart }
    var followUp: ListPart? { list.followUp }
    var hasPages: Bool { list.loaded.pageCount > 0 }
    var lastPageLoad: RequestID? { list.lastPageLoad }

    var loadedSince: Duration? { list.loadedSince }
    var isRefreshing: Bool { list.isRefreshing }

    func input(of part: ListPart) -> LoadInput { list.input(of: part) }

    func path(of part: ListPart, in session: @autoclosure () -> UserSession) -> String? {
        part == .first ? nil : list.path(in: session())
    }

    func decision(for part: ListPart) -> PageLoadDecision {
        list.decision(for: part, in: proxy.userSession(of: serviceForNewLoad), isActive: proxy.loads.contains)
    }

    func loadWillBegin(
        _ id: RequestID,
        of part: ListPart,
        input: LoadInput,
        from service: APIService?
    ) throws(APIError) -> RequestDraft.Addition {
        // A load that one of these hooks begins is newer than this one.
        let (strategy, maxPages) = (strategy, maxPages)
        let session = proxy.userSession(of: service)
        let position = list.begin(part, id: id, strategy: strategy, input: input, session: session)
        // A reload may have failed since, or one of the hooks has begun a newer one.
        if [.next, .prefetch, .previous].contains(part), list.isLoading(id) { isReloading = isReloaded }
        changeCount += 1
        guard maxPages.map({ $0 > 0 }) != false else {
            throw APIError(.invalidRequest, reason: "maxPages must be at least 1")
        }
        if let reason = list.blockedReason(for: part) {
            throw APIError(.decoding, reason: reason)
        }
        return try addition(at: position, by: strategy)
    }

    func firstPage() throws(APIError) -> RequestDraft.Addition { try addition(at: strategy.start, by: strategy) }

    func additionToRepeat(_ id: RequestID, after error: APIError?) throws(APIError) -> RequestDraft.Addition? {
        guard let position = list.repeatPage(of: id, after: error) else { return nil }
        return try addition(at: position, by: strategy)
    }

    private func addition(
        at position: PagePosition,
        by strategy: any PageStrategy
    ) throws(APIError) -> RequestDraft.Addition {
        guard !list.isEditedTooOften else {
            throw APIError(.invalidResponse, reason: "the list is edited more often than the server responds")
        }
        do throws(PageStrategyError) {
            let params = try strategy.params(at: position)
            guard case .link(let url) = position else { return RequestDraft.Addition(params: params, link: nil) }
            let link = RequestDraft.Link(url: url, allowedOrigins: strategy.allowedOrigins)
            return RequestDraft.Addition(params: params, link: link)
        } catch {
            throw APIError(.invalidRequest, reason: error.description)
        }
    }

    func didReceive(_ content: any Sendable, in response: APIResponse, of id: RequestID) {
        guard let page = content as? Page else { return }
        let kept = page.items.count
        list.didReceive(kept + response.skippedElements(of: Item.self, kept: kept), of: id)
    }

    func endsList(with error: APIError, of id: RequestID) -> Bool { list.ends(with: error, of: id) }

    func loadDidEnd(
        _ id: RequestID,
        with result: Result<any Sendable, APIError>,
        response: APIResponse?
    ) -> (() -> Void)? {
        let change: ListChange?
        switch result {
        case .success(let content):
            // A reload that had no network: the following pages are those that were stored with it.
            if response?.source == .cache, list.isFirstPage(id) { isReloading = false }
            change = accept(content, in: response, of: id)
            if case .reload? = change { isReloaded = isReloading }
        case .failure(let error):
            change = list.fail(id, with: error)
        }
        // Before a reader of the list, which may remove all pages.
        if let change { changes.append(change) }
        changeCount += 1
        return change == nil ? nil : { self.notifyObserver() }
    }

    func keepLoadedPages() {
        list.keepLoadedPages()
        changeCount += 1
    }

    private func accept(_ content: any Sendable, in response: APIResponse?, of id: RequestID) -> ListChange? {
        guard let page = content as? Page, let response else { return list.end(of: id) }
        // Before the list changes, because these hooks may edit it.
        let rules = rules
        return list.accept(page, in: response, of: id, rules: rules)
    }
}

extension PageAPIRequest {
    /// Notifies the observer of every change before the edit.
    func prepareEdit() -> ListRules<Item> {
        let rules = rules
        notifyObserver()
        return rules
    }

    private var rules: ListRules<Item> {
        ListRules(strategy: strategy, itemID: itemID, maxPages: maxPages.map { max(1, $0) })
    }

    func apply(_ edit: ListEdit<Item>, by rules: ListRules<Item>) {
        apply([edit], as: edit.listChange, by: rules)
    }

    /// Notifies the observer of the edits as one change.
    func apply(_ edits: [ListEdit<Item>], as change: ListChange, by rules: ListRules<Item>) {
        for edit in edits { list.apply(edit, rules: rules) }
        // The pages that are stored may not have the edit.
        if edits.contains(where: \.isOnServer) { (isReloading, isReloaded) = (true, true) }
        changes.append(change)
        changeCount += 1
        notifyObserver()
    }

    func applyToAbsentItem() {
        list.applyToAbsentItem()
        // A page that is stored may have the item.
        (isReloading, isReloaded) = (true, true)
    }

    fileprivate func notifyObserver() {
        while !changes.isEmpty {
            switch changes.removeFirst() {
            case .reload: pageObserver?.pageListDidReload(self)
            case .rows(let inserted, let removed): pageObserver?.pageList(self, didInsert: inserted, removing: removed)
            case .replaced(let rows): pageObserver?.pageList(self, didReplace: rows)
            case .failure(let error): pageObserver?.pageList(self, didFailWith: error)
            }
        }
    }
}
