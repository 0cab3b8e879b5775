/// The protocol through which a ``PageAPIRequest`` subclass loads its pages; the superclass adopts it.
@MainActor public protocol PagedManager: BaseAPIRequest {
    /// The type of an item.
    associatedtype Item: Sendable

    /// The items of all loaded pages, in their order.
    var items: [Item] { get }
    /// The rows of the newest page in ``items``.
    var insertedRows: Range<Int> { get }
    /// The state of a refresh.
    var refreshState: PageLoadState { get }
    /// The state of the next page.
    var appendState: PageLoadState { get }
    /// The state of the previous page.
    var prependState: PageLoadState { get }
    /// Whether there is a page after the loaded ones.
    var hasMore: Bool { get }
    /// Whether there is a page before the loaded ones.
    var hasPrevious: Bool { get }
    /// The distance in rows from an end of the list at which a row that appears loads a page.
    var prefetchDistance: Int { get }
}

extension APIManager where Self: PagedManager {
    /// Loads the first page, which replaces the list when it has been received.
    ///
    /// Given parameters are also used for the following pages, ``refreshAll()`` and ``retry()``, until the next reload. After a
    /// reload that fails or is cancelled, further pages are loaded with the parameters of the pages that the list contains, and
    /// ``BaseAPIRequest/loadAgain()`` reloads with the new ones, as ``retry()`` does after a failure.
    ///
    /// - Parameters:
    ///   - params: The parameters of the list; those of the param source by default, which is then called for each page.
    ///   - indicator: Shown now, and hidden when the load ends; retained until then. None by default.
    ///   - message: The text of the indicator; none by default.
    /// - Returns: The load's ID.
    @discardableResult
    public func reload(
        params: RequestParams = .source,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil
    ) -> RequestID {
        refresh(.first, input: LoadInput(params), indicator: indicator, message: message)
    }

    /// Loads all loaded pages again, one after the other.
    ///
    /// The new pages replace the list when the last one has been received.
    ///
    /// Each page is requested at the position where the page before it now ends, so a change on the server causes neither a gap
    /// nor a repetition. Each page is a load, whose ending the delegate receives; ``PagedManager/refreshState`` is `.loading`
    /// until the last one has ended. If a page fails or is cancelled, the list does not change; after a failure, ``retry()``
    /// begins again with the first page.
    ///
    /// - Returns: The first load's ID.
    @discardableResult
    public func refreshAll() -> RequestID {
        refresh(.all, input: nil)
    }

    /// Loads the page after the loaded pages, or the first page if none is loaded yet, or if the account or the environment has
    /// changed since.
    ///
    /// Sends nothing if a page is already loading.
    ///
    /// - Parameters:
    ///   - indicator: Shown now, and hidden when the load ends, also one that runs already; retained until then. Not shown at the
    ///     end of the list. None by default.
    ///   - message: The text of the indicator; none by default.
    /// - Returns: The ID of the load that runs now; `nil` at the end of the list.
    @discardableResult
    public func loadNextPage(indicator: (any LoadingIndicator)? = nil, message: String? = nil) -> RequestID? {
        load(.next, indicator: indicator, message: message)
    }

    /// Loads the page before the loaded pages, or the first page if none is loaded yet, or if the account or the environment
    /// has changed since.
    ///
    /// A previous page exists if the list did not start at its first page and the strategy can derive the position, or if
    /// ``PageAPIRequest/maxPages`` has removed pages. Sends nothing if a page is already loading. If the page adds no row, up to two
    /// more are loaded, each with an ending of its own.
    ///
    /// - Returns: The ID of the load that runs now; `nil` at the beginning of the list.
    @discardableResult
    public func loadPreviousPage() -> RequestID? {
        load(.previous)
    }

    /// Loads the failed page again; if several loads have failed, the refresh first, then the next page.
    ///
    /// Sends nothing if another page is loading, unless the refresh has failed.
    ///
    /// - Returns: The ID of the load that runs now; `nil` when nothing has failed.
    @discardableResult
    public func retry() -> RequestID? {
        loadFailedPart()
    }

    /// Loads the page at an end of the list when a row near that end has become visible.
    ///
    /// Does nothing while a page is loading, after which the row has to appear again, or if the last load on that side has failed;
    /// use ``retry()`` in that case. If a page at either end adds no row, up to two more pages are loaded, because no new row can
    /// appear to trigger them. Nothing can appear in a list whose first page has no row, or all of whose rows were removed; call
    /// ``loadNextPage(indicator:message:)`` then.
    ///
    /// - Parameter index: The index of the row in ``PagedManager/items``; an index outside of the items is ignored.
    public func itemAppeared(at index: Int) {
        guard items.indices.contains(index) else { return }
        if index >= items.count - 1 - prefetchDistance, hasMore, appendState.isIdle {
            loadUnlessLoading(.prefetch)
        } else if index <= prefetchDistance, hasPrevious, prependState.isIdle {
            loadUnlessLoading(.previous)
        }
    }

    private func loadUnlessLoading(_ part: ListPart) {
        if case .begin? = pager?.decision(for: part) { load(part) }
    }
}

extension APIManager {
    func loadFailedPart() -> RequestID? {
        switch pager?.failedPart {
        case nil: nil
        case .first: refresh(.first, input: nil)
        case .all: refresh(.all, input: nil)
        case let part?: load(part)
        }
    }

    /// Without `input`, sends that of the list.
    func refresh(
        _ part: ListPart,
        input: LoadInput?,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil
    ) -> RequestID {
        cancelAllRequests()
        // Positions of another account are of no use either.
        let part = if case .begin(.first)? = pager?.decision(for: .next) { ListPart.first } else { part }
        return begin(loading: part, input: input, indicator: indicator, message: message, isReload: true)
    }

    /// Does nothing for a part that is loading or does not exist.
    @discardableResult
    func load(
        _ part: ListPart,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil,
        receiver: EndingReceiver = .delegate
    ) -> RequestID? {
        switch pager?.decision(for: part) ?? .begin(part) {
        case .skip: return nil
        case .join(let id) where proxy.join(id):
            if let indicator { SharedIndicators.show(indicator, message, of: id) }
            return join(id, receiver: receiver)
        // Its last caller has left it meanwhile.
        case .join: return load(part, indicator: indicator, message: message, receiver: receiver)
        case .begin(let part):
            return begin(loading: part, input: nil, indicator: indicator, message: message, receiver: receiver)
        }
    }
}

/// The state of one side of a list: of its refresh, its next page, or its previous page.
public enum PageLoadState: Sendable {
    /// No page is loading, and there may be one to load.
    case idle
    /// A page is loading.
    case loading
    /// The last load has failed; ``APIManager/retry()`` loads the page again.
    case failed(APIError)
    /// The list has no more pages on this side; never the state of a refresh.
    case end

    /// Whether a page is loading.
    public var isLoading: Bool {
        if case .loading = self { true } else { false }
    }

    var isIdle: Bool {
        if case .idle = self { true } else { false }
    }

    /// The error of the last load, if it has failed.
    public var error: APIError? {
        if case .failed(let error) = self { error } else { nil }
    }

    /// Whether the list has no more pages on this side.
    public var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}
