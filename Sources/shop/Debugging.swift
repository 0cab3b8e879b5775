import Errand
import Foundation

/// The server's log and its debug calls, which the app itself does not use.
///
/// It has a separate proxy, so that its requests are not among the app's exchanges and cookies.
@MainActor struct ServerDebugging {
    private let proxy: APIProxy

    /// Creates the debug client of the shop at `baseURL`.
    init(baseURL: URL) {
        proxy = APIProxy(service: APIService(baseURL: baseURL))
    }

    /// Returns the server's log.
    func log() async throws -> ServerLog {
        try await ServerLogRequest(proxy: proxy).value()
    }

    /// Waits until the server has received a request for `path` since `start`.
    func waitForHit(of path: String, since start: ServerLog) async throws {
        while try await log().since(start).hits[path] == nil {}
    }

    /// Lets the session of `account` expire.
    func expireSession(of account: Account, as style: ExpiryStyle) async throws {
        try await change("expire-session", of: account, ["as": style.rawValue])
    }

    /// Places an order of `account`, which becomes the first of its orders.
    func placeOrder(of account: Account) async throws {
        try await change("place-order", of: account, [:])
    }

    /// Lets one page of the orders of `account` fail, after this many pages.
    func breakOrders(of account: Account, after pages: Int) async throws {
        try await change("break-orders", of: account, ["after": pages])
    }

    /// Lets the session key with this ID expire.
    func expireKey(id: String) async throws {
        try await DebugRequest("expire-key", proxy: proxy).value(params: ["id": id])
    }

    private func change(_ name: String, of account: Account, _ params: APIParams) async throws {
        guard let token = account.headers["X-Token"] else { throw StepFailure("no account is signed in") }
        try await DebugRequest(name, token: token, proxy: proxy).value(params: .given(params))
    }
}

/// The counts of calls in the server's log.
struct ServerLog: Decodable, Sendable {
    let logins: Int
    let refused: Int
    let keyExchanges: Int
    let keyRefusals: Int
    /// The number of calls by path.
    let hits: [String: Int]

    /// Returns the difference from `earlier`.
    func since(_ earlier: ServerLog) -> ServerLog {
        ServerLog(
            logins: logins - earlier.logins,
            refused: refused - earlier.refused,
            keyExchanges: keyExchanges - earlier.keyExchanges,
            keyRefusals: keyRefusals - earlier.keyRefusals,
            hits: hits.merging(earlier.hits, uniquingKeysWith: -).filter { $0.value != 0 }
        )
    }
}

/// How the server reports an expired session.
enum ExpiryStyle: String {
    /// By HTTP status 401.
    case http
    /// By `errcode` 11010 in a response with HTTP status 200.
    case envelope
}

/// Loads the server's log.
private final class ServerLogRequest: BaseAPIRequest, APIManager {
    typealias Response = ServerLog
    let path = "/debug/log"
    let method = HTTPMethod.get
}

/// Changes the state of the shop, mostly for the session with the token.
private final class DebugRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path: String
    let method = HTTPMethod.post
    private let token: String?

    init(_ change: String, token: String? = nil, proxy: APIProxy) {
        path = "/debug/" + change
        self.token = token
        super.init(proxy: proxy)
    }

    override var headers: HTTPHeaders { ["X-Token": token] }
}
