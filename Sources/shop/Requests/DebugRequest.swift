import Errand

/// Changes the state of the shop, mostly for the session with the token.
final class DebugRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path: String
    let method = HTTPMethod.post

    private let token: String?
    private let parameters: APIParams

    init(_ change: DebugChange, token: String? = nil, proxy: APIProxy) {
        self.token = token
        (path, parameters) = (change.path, change.params)
        super.init(proxy: proxy)
    }

    override var headers: HTTPHeaders { ["X-Token": token] }

    override func reformParams(_ params: APIParams?) -> APIParams? { parameters }
}

/// A change of the shop's state.
enum DebugChange {
    /// The session expires.
    case expireSession(ExpiryStyle)
    /// One page of the orders fails, after this many pages.
    case breakOrders(after: Int)
    /// An order is placed.
    case placeOrder
    /// The session key with this ID expires.
    case expireKey(id: String)

    fileprivate var path: String {
        switch self {
        case .expireSession: "/debug/expire-session"
        case .breakOrders: "/debug/break-orders"
        case .placeOrder: "/debug/place-order"
        case .expireKey: "/debug/expire-key"
        }
    }

    fileprivate var params: APIParams {
        switch self {
        case .expireSession(let style): ["as": style.rawValue]
        case .breakOrders(let pages): ["after": pages]
        case .placeOrder: [:]
        case .expireKey(let id): ["id": id]
        }
    }
}

/// How the server reports an expired session.
enum ExpiryStyle: String {
    /// By HTTP status 401.
    case http
    /// By `errcode` 11010 in a response with HTTP status 200.
    case envelope
}
