import Errand

/// Lets a page of the orders fail in the session of a token.
final class BreakOrdersRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/debug/break-orders"
    let method = HTTPMethod.post

    private let token: String
    private let pages: Int

    init(token: String, after pages: Int, proxy: APIProxy) {
        self.token = token
        self.pages = pages
        super.init(proxy: proxy)
    }

    override var headers: HTTPHeaders { ["X-Token": token] }

    override func reformParams(_ params: APIParams?) -> APIParams? { ["after": pages] }
}
