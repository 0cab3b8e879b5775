private struct PageSequence<List: APIManager & PagedManager>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    typealias Element = [List.Item]
    typealias Failure = APIError

    let list: List
    let input: LoadInput
    /// The load of the page before.
    var newest: RequestID?

    func makeAsyncIterator() -> PageSequence { self }

    mutating func next(isolation _: isolated (any Actor)?) async throws(APIError) -> Element? {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let page = try await list.page(after: newest, input)
        newest = page.load
        return try page.items.get()
    }
}

extension APIManager where Self: PagedManager {
    /// Returns the pages one by one, each requested when the iteration reaches it, for scripts; the delegate is not notified of
    /// their loads.
    ///
    /// An iteration begins with the first page, which replaces the list; do not load other pages of the list until the iteration
    /// has ended. Each element contains the items that a page added to ``PagedManager/items``. If a page fails, the iterator throws
    /// the error, and its next call requests the same page again. The error is `cancelled` if another load has changed or is about
    /// to change the pages of the list since the previous page, or if the account or the environment has changed; begin a new
    /// iteration in that case. Cancelling the task cancels the load of the page, unless other calls wait for the load as well.
    ///
    /// - Parameter params: The parameters; see ``APIManager/reload(params:indicator:message:)``.
    /// - Returns: The items of each page; nothing is loaded yet.
    public func pages(params: RequestParams = .source) -> some AsyncSequence<[Item], APIError> & Sendable {
        PageSequence(list: self, input: LoadInput(params))
    }

    /// Loads all pages, one after the other, and returns their items, including items of pages that ``PageAPIRequest/maxPages``
    /// has removed from the list meanwhile.
    ///
    /// - Parameter params: The parameters; see ``APIManager/reload(params:indicator:message:)``.
    /// - Returns: The items of all pages.
    /// - Throws: Why a page could not be loaded; the items received before are in ``PagedManager/items``, as far as
    ///   ``PageAPIRequest/maxPages`` keeps them.
    public func allItems(params: RequestParams = .source) async throws(APIError) -> [Item] {
        var iterator = PageSequence(list: self, input: LoadInput(params))
        var all: [Item] = []
        while let page = try await iterator.next() { all += page }
        return all
    }

    fileprivate func page(
        after newest: RequestID?,
        _ input: LoadInput
    ) async throws(APIError) -> IteratedPage<Item> {
        if newest == nil { cancelAllRequests() }
        let id = try newest == nil ? begin(input: input, receiver: .caller()) : nextLoad(after: newest)
        guard let id else { return IteratedPage(load: newest, items: .success(nil)) }
        let session = proxy.session(of: id)
        let left = IteratedPage<Item>(load: newest, items: .failure(APIError(.cancelled)))
        let caller = LoadCaller(of: id, in: proxy, ifLeft: left)
        receivePage(of: id, after: newest, for: caller)
        defer { removeWaiters(of: caller) }
        let page = await caller.outcome()
        return session.hasEnded ? left : page
    }

    /// Returns `nil` at the end of the list; throws `cancelled` when another load has changed the pages, or is about to.
    private func nextLoad(after newest: RequestID?) throws(APIError) -> RequestID? {
        // Before the first page, an edit has made the reload begin again.
        let isOwner = newest == nil ? refreshState.isLoading : newest == pager?.lastPageLoad && !isLoadingOtherPart
        guard isOwner else {
            throw APIError(.cancelled, reason: "another load of this list has interrupted the iteration")
        }
        if newest != nil, case .begin(.first)? = pager?.decision(for: .next) {
            throw APIError(.cancelled, reason: "the account or the environment has changed during the iteration")
        }
        return load(.next, receiver: .caller())
    }

    private var isLoadingOtherPart: Bool {
        guard !appendState.isLoading, case .join? = pager?.decision(for: .next) else { return false }
        return true
    }

    /// Waits inside the ending of a load for the one that follows up, which could otherwise end before the iteration continues.
    private func receivePage(
        of id: RequestID,
        after newest: RequestID?,
        for caller: LoadCaller<IteratedPage<Item>>
    ) {
        wait(for: id, as: caller) { [self] result in
            guard caller.isWaiting else { return }
            if let error = result.error {
                return caller.end(with: IteratedPage(load: newest, items: .failure(error)))
            }
            let isAdded = pager?.lastPageLoad == id
            if isAdded, !insertedRows.isEmpty || !appendState.isLoading {
                let rows = Array(items[insertedRows])
                return caller.end(with: IteratedPage(load: id, items: .success(rows.isEmpty && !hasMore ? nil : rows)))
            }
            // An edit has made the page out of date, or a row that appeared has requested it, and it is empty.
            let newest = isAdded ? id : newest
            do throws(APIError) {
                guard let followUp = try nextLoad(after: newest) else {
                    return caller.end(with: IteratedPage(load: newest, items: .success(nil)))
                }
                receivePage(of: followUp, after: newest, for: caller)
                caller.wait(for: followUp)
            } catch {
                caller.end(with: IteratedPage(load: newest, items: .failure(error)))
            }
        }
    }
}

/// A page that an iteration returns, or why there is none, and the newest load that the iteration has reached.
private struct IteratedPage<Item: Sendable>: Sendable {
    let load: RequestID?
    /// `nil` at the end of the list.
    let items: Result<[Item]?, APIError>
}
