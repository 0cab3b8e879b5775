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
        try await change(.expireSession(style), for: account)
    }

    /// Places an order of `account`, which becomes the first of its orders.
    func placeOrder(of account: Account) async throws {
        try await change(.placeOrder, for: account)
    }

    /// Lets one page of the orders of `account` fail, after this many pages.
    func breakOrders(of account: Account, after pages: Int) async throws {
        try await change(.breakOrders(after: pages), for: account)
    }

    /// Lets the session key with this ID expire.
    func expireKey(id: String) async throws {
        try await DebugRequest(.expireKey(id: id), proxy: proxy).value()
    }

    private func change(_ change: DebugChange, for account: Account) async throws {
        guard let token = account.headers["X-Token"] else { throw StepFailure("no account is signed in") }
        try await DebugRequest(change, token: token, proxy: proxy).value()
    }
}
