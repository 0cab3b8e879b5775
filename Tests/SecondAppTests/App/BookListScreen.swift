import Errand

/// Shows all books of a shelf, page by page.
@MainActor final class BookListScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    private(set) var rows: [String] = []
    private(set) var alert: String?
    private(set) lazy var books = BookListRequest(path: path, pages: pages, screen: self)
    private let path: String
    private let pages: any PageStrategy

    init(path: String, pages: any PageStrategy) {
        (self.path, self.pages) = (path, pages)
    }

    var canScroll: Bool { books.hasMore }

    func appear() { books.reload() }
    func scrollToEnd() { books.itemAppeared(at: rows.count - 1) }
    func retryButtonTapped() { books.loadAgain() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["shelf": "main"] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        alert = nil
        rows = books.items.map(\.title)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        alert = error.message
    }
}
