public import Observation

/// A request whose answers are pages of one list: ``APIManager/reload()``, ``APIManager/loadNextPage()``, ``items``.
///
/// A screen gives parameters alone; the strategy adds those of the page. A refresh beats an append; a failed refresh keeps
/// the items and the position; a failed append keeps the position, and ``APIManager/retry()`` asks for that page again. The
/// delegate, where there is one, hears of each page's ending as of any other load's, after the list has changed.
@MainActor @Observable open class PageAPIRequest<Page: PageResponse & Sendable>: BaseAPIRequest, PagedManager {
    /// What an answer is decoded to.
    public typealias Response = Page
    /// What the list is made of.
    public typealias Item = Page.Item

    private var list = PagedList<Item>()

    /// The items of all loaded pages, in their order.
    public var items: [Item] { list.items }
    /// What the load of the first page is doing.
    public var refreshState: PageLoadState { list.refreshState }
    /// What the load of the next page is doing; `.end` when there is none.
    public var appendState: PageLoadState { list.appendState }
    /// How many items the server says the whole list has, where it says so.
    public var totalItems: Int? { list.totalItems }
    /// Whether there is a page behind the loaded ones; false until the first page has come.
    public var hasMore: Bool { list.next != nil }

    // MARK: Hooks

    /// How pages are asked for; by number from 1, 20 items each, by default.
    open var strategy: any PageStrategy { PageNumber() }
    /// What makes an item itself, so that one that comes again on a later page is shown once; `nil`, the default, shows all.
    open var itemID: ((Item) -> AnyHashable)? { nil }

    // MARK: A load's beginning and ending

    override var pageStep: PageStep { list.step }

    override func loadWillBegin(_ id: RequestID, at position: LoadPosition) throws(APIError) -> APIParams? {
        let page = position == .next ? list.next ?? strategy.start : strategy.start
        switch position {
        case .start: list.beginRefresh(id, at: page)
        case .next: list.beginAppend(id)
        }
        do throws(PageStrategyError) {
            return try strategy.params(at: page)
        } catch {
            throw APIError(.paramsError, service: service ?? proxy.defaultService, reason: error.description)
        }
    }

    override func loadDidEnd(_ id: RequestID, _ result: Result<any Sendable, APIError>, _ response: APIResponse?) {
        switch result {
        case .success(let content):
            guard let page = content as? Page, let response else { return }
            list.accept(page, response, for: id, strategy: strategy, itemID: itemID)
        case .failure(let error):
            list.fail(error, for: id)
        }
    }
}
