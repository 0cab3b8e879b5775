import Errand
import Foundation

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

/// Uploads the user's picture, and redeems coupons.
@MainActor final class ProfileScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    private(set) var caption = ""
    private(set) var coupons: [String] = []
    private(set) var notice: String?
    private(set) var alert: String?
    private(set) var uploadedBytes: [Int64] = []
    private(set) lazy var upload = PictureUpload(delegate: self, paramSource: self)
    private(set) lazy var redeem = CouponRequest(coupons: backend, screen: self)
    private let backend: APIService

    init(coupons: APIService) {
        backend = coupons
    }

    func pictureChosen(_ picture: URL) {
        upload.picture = picture
        upload.loadData()
    }

    func couponEntered(_ coupon: String) { redeem.loadData(params: ["coupon": coupon]) }

    func params(for request: BaseAPIRequest) -> APIParams? { ["caption": "Me & my books"] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        alert = nil
        switch request {
        case upload:
            guard let picture = upload.response else { return }
            caption = "\(picture.caption): \(picture.name), \(picture.type), \(picture.size) bytes"
        default:
            notice = redeem.serverMessage
            coupons += redeem.response.map { ["\($0.coupon) \($0.percent)%"] } ?? []
        }
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        alert = error.message
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        guard progress.direction == .upload else { return }
        uploadedBytes.append(progress.completedBytes)
    }
}

/// Signs in with a session cookie.
@MainActor final class SignInScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    var name = ""
    var password = ""
    private(set) var greeting = ""
    private(set) var alert: String?
    private(set) lazy var session = APIRequest<User>("/session/", delegate: self)
    private(set) lazy var signIn = SignInRequest(delegate: self, paramSource: self)
    private(set) lazy var signOut = APIRequest<Void>("/session/", method: .delete, delegate: self)

    func appear() { session.loadData() }
    func signInButtonTapped() { signIn.loadData() }
    func signOutButtonTapped() { signOut.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? {
        request == signIn ? ["username": name, "password": password] : nil
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        alert = nil
        switch request {
        case signIn: greet(signIn.response)
        case session: greet(session.response)
        default: greet(nil)
        }
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        alert = error.message
    }

    private func greet(_ user: User?) {
        greeting = user.map { $0.username.isEmpty ? "Please sign in." : "Hello, \($0.username)!" } ?? "Goodbye."
    }
}

/// Shows the errors of all screens, except where a screen has a better place for them.
@MainActor final class Banner: ErrorPresenter {
    private(set) var texts: [String] = []

    func presentError(_ error: APIError, of request: BaseAPIRequest) {
        texts.append(error.message)
    }
}
