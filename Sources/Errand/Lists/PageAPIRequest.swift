import Observation

/// A request whose answers are pages of one list: ``APIManager/reload()``, ``APIManager/loadNextPage()``, ``items``.
///
/// A screen gives parameters alone; the strategy adds those of the page. A refresh beats an append; a failed refresh keeps
/// the items and the position; a failed append keeps the position, and ``APIManager/retry()`` asks for that page again. The
/// delegate, where there is one, hears of each page's ending as of any other load's, after the list has changed.
///
/// The end of the list follows from what the server sends, never from the size that was asked for: see the strategy. A 404 behind
/// the last page is such an end; its load succeeds, with no rows, and ``APIManager/response`` stays that of the page before.
///
/// A server that leads in circles is stopped: where it names a page as the next one that it has given before, where the next
/// page is behind a link to another origin, where four pages in a row hold the same bytes (with ``itemID``: three in a row
/// nothing new), and where a hundred hold nothing at all, the next load fails before it is sent, with `decoding` or
/// `security`, until the list is reloaded.
@MainActor open class PageAPIRequest<Page: PageResponse & Sendable>: BaseAPIRequest, PagedManager
where Page.Item: Sendable {
    /// What an answer is decoded to.
    public typealias Response = Page
    /// What the list is made of.
    public typealias Item = Page.Item

    /// Hears of the list's changes row by row.
    ///
    /// Not retained.
    public weak var pageObserver: (any PageListObserver)?

    // Observed through `observation`.
    private var list = PagedList<Item>()
    private let observation = ListObservation()

    /// The items of all loaded pages, in their order.
    public var items: [Item] { observed(list.content.items) }
    /// Where the items of the newest page stand in ``items``.
    public var insertedRows: Range<Int> { observed(list.content.insertedRows) }
    /// How many pages ``items`` consists of.
    public var pageCount: Int { observed(list.content.pageCount) }
    /// What the load of the first page, or of all pages anew, is doing.
    public var refreshState: PageLoadState { observed(list.refreshState) }
    /// What the load of the next page is doing; `.end` when there is none.
    public var appendState: PageLoadState { observed(list.appendState) }
    /// What the load of the page in front of the list is doing; `.end` when there is none.
    public var prependState: PageLoadState { observed(list.prependState) }
    /// How many items the server says the whole list has, where it says so.
    public var totalCount: Int? { observed(list.content.totalCount) }
    /// Whether there is a page behind the loaded ones; false until the first page has come.
    public var hasMore: Bool { observed(list.content.next != nil) }
    /// Whether there is a page in front of the loaded ones, because the list opened in its middle or ``maxPages`` dropped it.
    public var hasPrevious: Bool { observed(list.content.previous != nil) }

    // MARK: Hooks

    /// How pages are asked for; by number from 1, 20 items each, by default.
    open var strategy: any PageStrategy { PageNumber() }
    /// What makes an item itself, so that one that comes again on a later page is shown once; `nil`, the default, shows all.
    ///
    /// For instance `ItemID(\.id)`. The item that came first stays.
    open var itemID: ItemID<Item>? { nil }
    /// How many pages are kept, at least 1; `nil`, the default, keeps all.
    ///
    /// With a limit the list is a window: a page that comes on one side drops one on the other, whose items may come again.
    open var maxPages: Int? { nil }
    /// How many rows before an end of the list ``APIManager/itemAppeared(at:)`` asks for more; 5 by default.
    open var prefetchDistance: Int { 5 }

    override var pager: (any Pager)? { self }

    /// Returns a part of the list, and registers its reader for changes.
    private func observed<Value>(_ value: Value) -> Value {
        observation.access()
        return value
    }
}

extension PageAPIRequest: Pager {
    var failedPart: ListPart? { list.failedPart }
    var followUp: ListPart? { list.followUp }

    func decision(for part: ListPart) -> PageLoadDecision {
        list.decision(for: part, isActive: proxy.isActive)
    }

    func loadWillBegin(
        _ id: RequestID,
        of part: ListPart,
        from service: APIService?
    ) throws(APIError) -> RequestDraft.Addition {
        // Hooks: what they begin is newer than this load.
        let (strategy, maxPages) = (strategy, maxPages)
        let position = list.begin(part, id, strategy: strategy)
        observation.recordChange()
        guard maxPages.map({ $0 > 0 }) != false else {
            throw APIError(.invalidRequest, service: service, reason: "a list of no pages cannot be loaded")
        }
        if let deadEnd = list.deadEnd(of: part) { throw APIError(.decoding, service: service, reason: deadEnd) }
        do throws(PageStrategyError) {
            return RequestDraft.Addition(params: try strategy.params(at: position), link: position.link)
        } catch {
            throw APIError(.invalidRequest, service: service, reason: error.description)
        }
    }

    func endsList(with error: APIError, of id: RequestID) -> Bool { list.ends(with: error, for: id) }

    func loadDidEnd(
        _ id: RequestID,
        with result: Result<any Sendable, APIError>,
        response: APIResponse?
    ) -> (() -> Void)? {
        let change: PageChange?
        switch result {
        case .success(let content):
            change = accept(content, response, for: id)
        case .failure(let error):
            change = list.fail(error, for: id)
        }
        observation.recordChange()
        return change.map { change in { self.notifyObserver(of: change) } }
    }

    private func accept(_ content: any Sendable, _ response: APIResponse?, for id: RequestID) -> PageChange? {
        guard let page = content as? Page, let response else { return list.end(for: id) }
        let rules = PageRules(strategy: strategy, itemID: itemID, maxPages: maxPages)
        return list.accept(page, response, for: id, rules)
    }

    private func notifyObserver(of change: PageChange) {
        switch change {
        case .reload: pageObserver?.pageListDidReload(self)
        case .rows(let inserted, let removed): pageObserver?.pageList(self, didInsert: inserted, removing: removed)
        case .failure(let error): pageObserver?.pageList(self, didFail: error)
        }
    }
}

/// Registers the readers of a list, and notifies them of its changes.
///
/// Not generic, unlike the list: in a generic class each access to an observed property creates its key path again.
@MainActor @Observable private final class ListObservation {
    private var changeCount = 0

    /// Registers the current reader.
    func access() { _ = changeCount }

    /// Notifies the readers.
    func recordChange() { changeCount += 1 }
}
