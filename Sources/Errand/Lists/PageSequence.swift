/// The pages of a list one by one, for scripts: the next one is asked for when it is wanted, and not before.
///
/// ``APIManager/pages`` makes it. An iteration begins with a reload of the list; each element is the items that a page has
/// added to ``PagedManager/items``. A failure is thrown; an iterator that is asked again after that asks for the page again.
/// Cancelling the task cancels the page that is under way.
public struct PageSequence<List: APIManager & PagedManager>: AsyncSequence, Sendable {
    /// The items of one page.
    public typealias Element = [List.Item]
    /// Why a page did not come.
    public typealias Failure = APIError

    let list: List

    /// Begins an iteration, with nothing loaded yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(list: list)
    }

    /// One way through the pages.
    public struct Iterator: AsyncIteratorProtocol {
        let list: List
        private var hasBegun = false

        init(list: List) {
            self.list = list
        }

        /// The next page's items; `nil` behind the last page.
        ///
        /// - Throws: Why the page did not come.
        public mutating func next() async throws(APIError) -> [List.Item]? {
            let page = try await list.nextPage(isFirst: !hasBegun)
            hasBegun = true
            return page
        }
    }
}

extension APIManager where Self: PagedManager {
    /// The pages one by one, from the first; loads go to the iteration instead of the delegate.
    public var pages: PageSequence<Self> { PageSequence(list: self) }

    /// Loads all pages, one after the other, and returns their items.
    ///
    /// - Throws: Why a page did not come; what has come until then is in ``PagedManager/items``.
    public func allItems() async throws(APIError) -> [Item] {
        var iterator = pages.makeAsyncIterator()
        while try await iterator.next() != nil {}
        return items
    }

    fileprivate func nextPage(isFirst: Bool) async throws(APIError) -> [Item]? {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        if isFirst { cancelAllRequests() }
        guard isFirst || !refreshState.isLoading && !prependState.isLoading else { throw Self.disturbed }
        guard let id = isFirst ? begin(endsAtCaller: true) : load(.next, endsAtCaller: true) else { return nil }
        _ = try await ending(of: id).get()
        guard newestEnding == id else { throw Self.disturbed }
        // Nothing came, because the list has ended with the page before.
        guard !insertedRows.isEmpty || hasMore else { return nil }
        return Array(items[insertedRows])
    }

    private static var disturbed: APIError {
        APIError(.cancelled, reason: "somebody else has loaded this list meanwhile")
    }
}
