import Errand

/// Adds, changes and removes a book; shows the server's message for each field beside it.
@MainActor final class BookFormScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    var title = ""
    var isbn = ""
    var cents = 0
    private(set) var bookID: Int?
    private(set) var messages: [String: String] = [:]
    private(set) var alert: String?
    private(set) var isClosed = false
    private(set) lazy var save = SaveBookRequest(delegate: self, paramSource: self)
    private(set) lazy var remove = RemoveBookRequest(delegate: self, paramSource: self)

    init(bookID: Int? = nil) {
        self.bookID = bookID
    }

    func saveButtonTapped() {
        save.bookID = bookID
        save.loadData()
    }

    func removeButtonTapped() { remove.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? {
        var params: APIParams = request == remove ? [:] : ["title": title, "isbn": isbn, "cents": cents]
        if let bookID { params["id"] = bookID }
        return params
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        (messages, alert) = ([:], nil)
        switch request {
        case save: bookID = save.response?.id
        default: isClosed = true
        }
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        messages = error.fieldMessages.mapValues { $0.joined(separator: " ") }
        alert = messages.isEmpty ? error.message : nil
    }
}
