import Errand

/// Lets the session of a token end on the server.
final class ExpireSessionRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/debug/expire-session"
    let method = HTTPMethod.post

    private let token: String
    private let style: ExpiryStyle

    init(token: String, as style: ExpiryStyle, proxy: APIProxy) {
        self.token = token
        self.style = style
        super.init(proxy: proxy)
    }

    override var headers: HTTPHeaders { ["X-Token": token] }

    override func reformParams(_ params: APIParams?) -> APIParams? { ["as": style.rawValue] }
}

/// How the server says that a session is over.
enum ExpiryStyle: String {
    /// By HTTP status 401.
    case http
    /// By `errcode` 11010 in an answer with HTTP status 200.
    case envelope
}
