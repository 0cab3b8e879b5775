import Errand

/// Places an order in the session of a token.
final class PlaceOrderRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/debug/place-order"
    let method = HTTPMethod.post

    private let token: String

    init(token: String, proxy: APIProxy) {
        self.token = token
        super.init(proxy: proxy)
    }

    override var headers: HTTPHeaders { ["X-Token": token] }
}
