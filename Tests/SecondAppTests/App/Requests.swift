import Errand
import Foundation

final class SignInRequest: BaseAPIRequest, APIManager {
    typealias Response = User
    let path = "/session/"
    let method = HTTPMethod.post
    override var isLoginRequest: Bool { true }
}

final class TokenRequest: BaseAPIRequest, APIManager {
    typealias Response = Token
    let path = "/token/"
    let method = HTTPMethod.post
}

final class BookListRequest: PageAPIRequest<PageModel<Book>>, APIManager {
    let path: String
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { pages }
    override var itemID: ItemID<Book>? { ItemID(\.id) }
    private let pages: any PageStrategy

    init(path: String, pages: any PageStrategy, screen: any APIManagerCallbackDelegate & APIManagerParamSource) {
        (self.path, self.pages) = (path, pages)
        super.init(delegate: screen, paramSource: screen)
    }
}

final class SaveBookRequest: BaseAPIRequest, APIManager {
    typealias Response = Book
    /// The book to change; `nil` adds one.
    var bookID: Int?
    var path: String { bookID == nil ? "/books/" : "/books/{id}/" }
    var method: HTTPMethod { bookID == nil ? .post : .put }
    // The form shows its errors beside the fields.
    override var options: APIRequestOptions { APIRequestOptions(presentsErrors: false) }
}

final class RemoveBookRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/books/{id}/"
    let method = HTTPMethod.delete
}

final class PictureUpload: BaseAPIRequest, APIManager {
    typealias Response = Picture
    let path = "/picture/"
    let method = HTTPMethod.put
    var picture: URL?
    override var requestSerializer: RequestSerializer { .multipart }
    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true) }

    override func appendParts(to form: inout MultipartForm) {
        guard let picture else { return }
        form.append(file: picture, name: "picture")
    }
}

final class OrderRequest: BaseAPIRequest, APIManager {
    typealias Response = Order
    let path = "/orders/"
    let method = HTTPMethod.post
}

final class CouponRequest: BaseAPIRequest, APIManager {
    typealias Response = Coupon
    let path = "/coupons/"
    let method = HTTPMethod.post
    override var service: APIService? { coupons }
    private let coupons: APIService

    init(coupons: APIService, screen: any APIManagerCallbackDelegate) {
        self.coupons = coupons
        super.init(delegate: screen)
    }
}
