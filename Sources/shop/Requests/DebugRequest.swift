import Errand

/// Changes the shop behind the back of the customer who has the token.
final class DebugRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path: String
    let method = HTTPMethod.post

    private let token: String
    private let parameters: APIParams

    init(_ change: DebugChange, token: String, proxy: APIProxy) {
        self.token = token
        (path, parameters) = (change.path, change.params)
        super.init(proxy: proxy)
    }

    override var headers: HTTPHeaders { ["X-Token": token] }

    override func reformParams(_ params: APIParams?) -> APIParams? { parameters }
}

/// What can be changed in the shop.
enum DebugChange {
    /// The session ends.
    case expireSession(ExpiryStyle)
    /// So many pages of the orders come, and then one failure.
    case breakOrders(after: Int)
    /// There is one order more.
    case placeOrder

    fileprivate var path: String {
        switch self {
        case .expireSession: "/debug/expire-session"
        case .breakOrders: "/debug/break-orders"
        case .placeOrder: "/debug/place-order"
        }
    }

    fileprivate var params: APIParams {
        switch self {
        case .expireSession(let style): ["as": style.rawValue]
        case .breakOrders(let pages): ["after": pages]
        case .placeOrder: [:]
        }
    }
}

/// How the server says that a session is over.
enum ExpiryStyle: String {
    /// By HTTP status 401.
    case http
    /// By `errcode` 11010 in an answer with HTTP status 200.
    case envelope
}
