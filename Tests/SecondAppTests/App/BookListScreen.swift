import Errand

/// Shows all books of a shelf, page by page.
@MainActor final class BookListScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    private(set) var rows: [String] = []
    private(set) var alert: String?
    private(set) lazy var books = BookListRequest(path: path, pages: pages, screen: self)
    private let path: String
    private let pages: any PageStrategy
    private let shelf: String

    init(path: String, pages: any PageStrategy, shelf: String = "main") {
        (self.path, self.pages, self.shelf) = (path, pages, shelf)
    }

    var canScroll: Bool { books.hasMore }

    func appear() { books.reload() }
    func scrollToEnd() { books.itemAppeared(at: rows.count - 1) }
    func retryButtonTapped() { books.loadAgain() }

    /// Another screen has removed a book.
    func bookWasRemoved(id: Book.ID) throws {
        try books.remove(id: id)
        rows = books.items.map(\.title)
    }

    func params(for request: BaseAPIRequest) -> APIParams? { ["shelf": shelf] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        alert = nil
        rows = books.items.map(\.title)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        alert = error.message
    }
}
