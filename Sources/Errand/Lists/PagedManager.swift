/// What ``PageAPIRequest`` adopts, so that its subclasses can load pages; there is nothing to adopt by hand.
@MainActor public protocol PagedManager: BaseAPIRequest {
    /// What the list is made of.
    associatedtype Item: Sendable

    /// The items of all loaded pages, in their order.
    var items: [Item] { get }
    /// Where the items of the newest page stand in ``items``.
    var insertedRows: Range<Int> { get }
    /// What the load of the first page is doing.
    var refreshState: PageLoadState { get }
    /// What the load of the next page is doing.
    var appendState: PageLoadState { get }
    /// What the load of the page in front of the list is doing.
    var prependState: PageLoadState { get }
    /// Whether there is a page behind the loaded ones.
    var hasMore: Bool { get }
    /// Whether there is a page in front of the loaded ones.
    var hasPrevious: Bool { get }
    /// How many rows before an end of the list a row that appears asks for more.
    var prefetchDistance: Int { get }
}

extension APIManager where Self: PagedManager {
    /// Loads the first page anew; its items replace the list when they have come.
    ///
    /// - Returns: The load's ID.
    @discardableResult
    public func reload() -> RequestID {
        refresh(.first)
    }

    /// Loads all pages anew that are loaded, one after the other; together they replace the list when the last one has come.
    ///
    /// Each page is asked for where the one before it ends now, so nothing is skipped or doubled after a change on the server.
    /// Each is a load of its own, of whose ending the delegate hears; ``PagedManager/refreshState`` is `.loading` until the
    /// last one. When one fails or is cancelled the list stays as it was; after a failure ``retry()`` begins anew.
    ///
    /// - Returns: The first load's ID.
    @discardableResult
    public func refreshAll() -> RequestID {
        refresh(.all)
    }

    /// Loads the page behind the loaded ones; the first page if there is none yet.
    ///
    /// Asking again while a page is under way sends nothing more.
    ///
    /// - Returns: The ID of the load that is under way now; `nil` at the end of the list.
    @discardableResult
    public func loadNextPage() -> RequestID? {
        load(.next)
    }

    /// Loads the page in front of the loaded ones; the first page if there is none yet.
    ///
    /// There is such a page where a list has opened in its middle and the strategy knows the way, and where
    /// ``PageAPIRequest/maxPages`` has dropped one. Asking again while a page is under way sends nothing more.
    ///
    /// - Returns: The ID of the load that is under way now; `nil` at the beginning of the list.
    @discardableResult
    public func loadPreviousPage() -> RequestID? {
        load(.previous)
    }

    /// Asks again for the page that did not come, the refresh before the append.
    ///
    /// - Returns: The load's ID; `nil` when nothing has failed.
    @discardableResult
    public func retry() -> RequestID? {
        switch pager?.failedPart {
        case nil: nil
        case .first: reload()
        case .all: refreshAll()
        case let part?: load(part)
        }
    }

    /// Tells the list that a row has become visible; near an end of the list, the page there is loaded.
    ///
    /// Nothing is loaded while a page is under way, or where one has failed: that is for ``retry()``. Should the page bring no
    /// new row, up to two more are loaded at once, since no row would appear that could ask for them.
    ///
    /// - Parameter index: The row's place in ``PagedManager/items``; others are ignored.
    public func itemAppeared(at index: Int) {
        guard items.indices.contains(index) else { return }
        if index >= items.count - 1 - prefetchDistance, hasMore, appendState.isIdle {
            load(.prefetch)
        } else if index <= prefetchDistance, hasPrevious, prependState.isIdle {
            load(.previous)
        }
    }

    private func refresh(_ part: ListPart) -> RequestID {
        cancelAllRequests()
        return begin(loading: part)
    }

    @discardableResult
    func load(_ part: ListPart, endsAtCaller: Bool = false) -> RequestID? {
        switch pager?.decision(for: part) ?? .begin(part) {
        case .join(let id): join(id, endsAtCaller)
        case .begin(let part): begin(loading: part, endsAtCaller: endsAtCaller)
        case .skip: nil
        }
    }
}
