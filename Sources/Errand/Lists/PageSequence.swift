/// The pages of a list one by one, for scripts: each page is requested when the iteration reaches it.
///
/// ``APIManager/pages`` and ``APIManager/pages(params:)`` return one. An iteration starts with a reload of the list; each
/// element contains the items that a page has added to ``PagedManager/items``. A failure is thrown; after it, the iterator
/// requests the same page again. Cancelling the task cancels the load of the page, unless others wait for that as well.
public struct PageSequence<List: APIManager & PagedManager>: AsyncSequence, Sendable {
    /// The items of one page.
    public typealias Element = [List.Item]
    /// The error of a page that could not be loaded.
    public typealias Failure = APIError

    let list: List
    let params: LoadParams

    /// Creates an iterator; nothing is loaded yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(list: list, position: .beginning(params))
    }

    /// An iteration over the pages.
    public struct Iterator: AsyncIteratorProtocol {
        let list: List
        private var position: IterationPosition

        fileprivate init(list: List, position: IterationPosition) {
            (self.list, self.position) = (list, position)
        }

        /// Returns the next page's items; `nil` after the last page.
        ///
        /// - Throws: Why the page could not be loaded; `cancelled` if another load has changed the pages of the list since the
        ///   page before, or is about to. The next call then waits for that load, and returns the page after those that are
        ///   loaded; the first page if there are none.
        public mutating func next() async throws(APIError) -> [List.Item]? {
            guard !Task.isCancelled else { throw APIError(.cancelled) }
            let step = await list.nextPage(position)
            position = step.position
            return try step.page.get()
        }
    }
}

extension APIManager where Self: PagedManager {
    /// The pages one by one, from the first; the delegate is not notified of their loads.
    public var pages: PageSequence<Self> { PageSequence(list: self, params: .paramSource) }

    /// Returns the pages one by one, as ``pages`` does, with these parameters of the list.
    ///
    /// - Parameter params: The parameters, as of ``APIManager/reload(params:indicator:message:)``.
    /// - Returns: The pages; nothing is loaded yet.
    public func pages(params: APIParams?) -> PageSequence<Self> { PageSequence(list: self, params: .given(params)) }

    /// Loads all pages, one after the other, and returns their items, also those of pages that ``PageAPIRequest/maxPages`` has
    /// dropped meanwhile.
    ///
    /// - Throws: Why a page could not be loaded; the items received before are in ``PagedManager/items``.
    public func allItems() async throws(APIError) -> [Item] {
        try await items(of: pages)
    }

    /// Loads all pages, as ``allItems()`` does, with these parameters of the list.
    ///
    /// - Parameter params: The parameters, as of ``APIManager/reload(params:indicator:message:)``.
    /// - Returns: The items of all pages.
    /// - Throws: Why a page could not be loaded.
    public func allItems(params: APIParams?) async throws(APIError) -> [Item] {
        try await items(of: pages(params: params))
    }

    private func items(of pages: PageSequence<Self>) async throws(APIError) -> [Item] {
        var iterator = pages.makeAsyncIterator()
        var all: [Item] = []
        while let page = try await iterator.next() { all += page }
        return all
    }

    fileprivate func nextPage(_ position: IterationPosition) async -> IterationStep<Item> {
        var first = beginPage(position)
        while case .wait(let id) = first {
            await waitForEnding(of: id)
            guard !Task.isCancelled else { return IterationStep(at: position, page: .failure(APIError(.cancelled))) }
            first = beginPage(position)
        }
        guard case .load(let id) = first else { return IterationStep(without: first, at: position) }
        let caller = LoadCaller(of: id, in: proxy.context, ifLeft: IterationStep<Item>(cancelledAt: position))
        receivePage(of: id, after: position, for: caller)
        defer { removeWaiters(of: caller) }
        return await caller.outcome()
    }

    /// Begins the load of the page after a position, or joins the one that runs; `isFollowUp` is true where a load of that page
    /// has ended without it.
    private func beginPage(_ position: IterationPosition, isFollowUp: Bool = false) -> BegunPage {
        switch position {
        case .beginning(let params) where !isFollowUp:
            cancelAllRequests()
            return .load(begin(params: params, receiver: .caller))
        case .beginning: guard refreshState.isLoading else { return .interrupted }
        case .page(let id) where id != pager?.lastPageLoad: return .interrupted
        case .page, .interrupted:
            guard let id = loadOfOtherPart else { break }
            if case .page = position, refreshState.isLoading { return .interrupted }
            return .wait(id)
        }
        return load(.next, receiver: .caller).map { .load($0) } ?? .end
    }

    /// The load of another part of the list than its next page; `nil` when none runs.
    private var loadOfOtherPart: RequestID? {
        guard pager?.hasPages == true, !appendState.isLoading, case .join(let id)? = pager?.decision(for: .next) else {
            return nil
        }
        return id
    }

    /// Waits until a load has ended or the task is cancelled, which does not cancel the load.
    private func waitForEnding(of id: RequestID) async {
        let (ending, news) = AsyncStream.makeStream(of: Never.self)
        wait(for: id) { _ in news.finish() }
        for await _ in ending {}
    }

    /// Ends a call with the page of a load, unless it has left that.
    ///
    /// Waits inside its ending for the load that follows up, which could otherwise end before the iteration continues.
    private func receivePage(
        of id: RequestID,
        after position: IterationPosition,
        for caller: LoadCaller<IterationStep<Item>>
    ) {
        wait(for: id, as: caller) { [self] result in
            guard caller.isWaiting else { return }
            if let error = result.error {
                // Another load has replaced it.
                let isSuperseded = error.type == .cancelled && isLoading
                let position = isSuperseded ? .interrupted : position
                return caller.end(with: IterationStep(at: position, page: .failure(error)))
            }
            let isAdded = pager?.lastPageLoad == id
            if isAdded, !insertedRows.isEmpty || !appendState.isLoading {
                let rows = Array(items[insertedRows])
                let page = rows.isEmpty && !hasMore ? nil : rows
                return caller.end(with: IterationStep(at: .page(id), page: .success(page)))
            }
            // An edit has made the page out of date, or a row that appeared has requested it, and it is empty.
            let position = isAdded ? .page(id) : position
            let next = beginPage(position, isFollowUp: true)
            guard case .load(let followUp) = next else {
                return caller.end(with: IterationStep(without: next, at: position))
            }
            receivePage(of: followUp, after: position, for: caller)
            caller.replace(by: followUp, ifLeft: IterationStep(cancelledAt: position))
        }
    }
}

/// Where an iteration is in its list.
private enum IterationPosition {
    /// Before the first page, which has these parameters.
    case beginning(LoadParams)
    /// After the page of this load.
    case page(RequestID)
    /// After the pages that are loaded, whichever they are.
    case interrupted
}

/// A step of an iteration.
private struct IterationStep<Item: Sendable>: Sendable {
    /// Where the iteration is after the step.
    let position: IterationPosition
    /// The items of a page; `nil` at the end of the list.
    let page: Result<[Item]?, APIError>

    init(at position: IterationPosition, page: Result<[Item]?, APIError>) {
        self.position = position
        self.page = page
    }

    /// Creates the step of a cancelled task.
    init(cancelledAt position: IterationPosition) {
        self.init(at: position, page: .failure(APIError(.cancelled)))
    }

    /// Creates the step of a page for which there is no load.
    init(without page: BegunPage, at position: IterationPosition) {
        guard case .end = page else {
            self = .interrupted
            return
        }
        self.init(at: position, page: .success(nil))
    }

    private static var interrupted: IterationStep {
        let error = APIError(.cancelled, reason: "another load of this list has interrupted the iteration")
        return IterationStep(at: .interrupted, page: .failure(error))
    }
}

/// What loads the next page of an iteration.
private enum BegunPage {
    /// This load.
    case load(RequestID)
    /// Nothing yet: this load of another part runs.
    case wait(RequestID)
    /// Nothing: the list has ended.
    case end
    /// Nothing: another load has changed the pages that the iteration has returned.
    case interrupted
}
