/// The pages of a list one by one, for scripts: each page is requested when the iteration reaches it.
///
/// ``APIManager/pages`` returns one. An iteration starts with a reload of the list; each element contains the items that a
/// page has added to ``PagedManager/items``. A failure is thrown; after it, the iterator requests the same page again.
/// Cancelling the task cancels the load of the page.
public struct PageSequence<List: APIManager & PagedManager>: AsyncSequence, Sendable {
    /// The items of one page.
    public typealias Element = [List.Item]
    /// The error of a page that could not be loaded.
    public typealias Failure = APIError

    let list: List

    /// Creates an iterator; nothing is loaded yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(list: list)
    }

    /// An iteration over the pages.
    public struct Iterator: AsyncIteratorProtocol {
        let list: List
        private var hasBegun = false

        init(list: List) {
            self.list = list
        }

        /// Returns the next page's items; `nil` after the last page.
        ///
        /// - Throws: Why the page could not be loaded.
        public mutating func next() async throws(APIError) -> [List.Item]? {
            let page = try await list.nextPage(isFirst: !hasBegun)
            hasBegun = true
            return page
        }
    }
}

extension APIManager where Self: PagedManager {
    /// The pages one by one, from the first; the delegate is not notified of their loads.
    public var pages: PageSequence<Self> { PageSequence(list: self) }

    /// Loads all pages, one after the other, and returns their items, also those of pages that ``PageAPIRequest/maxPages`` has
    /// dropped meanwhile.
    ///
    /// - Throws: Why a page could not be loaded; the items received before are in ``PagedManager/items``.
    public func allItems() async throws(APIError) -> [Item] {
        var iterator = pages.makeAsyncIterator()
        var all: [Item] = []
        while let page = try await iterator.next() { all += page }
        return all
    }

    fileprivate func nextPage(isFirst: Bool) async throws(APIError) -> [Item]? {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        if isFirst { cancelAllRequests() }
        let mayContinue = pager?.hasPages == true && !refreshState.isLoading && !prependState.isLoading
        guard isFirst || mayContinue else { throw Self.interrupted }
        var next = isFirst ? begin(receiver: .caller) : load(.next, receiver: .caller)
        while let id = next, pager?.newestPage != id {
            _ = try await ending(of: id).get()
            guard newestEnding == id else { throw Self.interrupted }
            // A page that an edit has outdated is requested again by another load.
            next = pager?.newestPage == id ? id : load(.next, receiver: .caller)
        }
        guard next != nil else { return nil }
        // The list has ended with the page before.
        guard !insertedRows.isEmpty || hasMore else { return nil }
        return Array(items[insertedRows])
    }

    private static var interrupted: APIError {
        APIError(.cancelled, reason: "another load of this list has interrupted the iteration")
    }
}
