import Errand
import Foundation

/// What no customer of the shop sees: the server's log, and a way to let a session expire.
///
/// It has a proxy of its own, so that nothing of it appears among the app's exchanges and cookies.
@MainActor struct Backstage {
    private let proxy: APIProxy

    /// Looks behind the shop at `baseURL`.
    init(baseURL: URL) {
        proxy = APIProxy(service: APIService(baseURL: baseURL))
    }

    /// What the server was asked for so far.
    func log() async throws -> ServerLog {
        try await ServerLogRequest(proxy: proxy).value()
    }

    /// Waits until the server has been asked for `path` since `start`.
    func waitForHit(of path: String, since start: ServerLog) async throws {
        while try await log().since(start).hits[path] == nil {}
    }

    /// Lets the session of `account` end.
    func expireSession(of account: Account, as style: ExpiryStyle) async throws {
        try await change(.expireSession(style), for: account)
    }

    /// Places an order of `account`, which stands in front of all others from now on.
    func placeOrder(of account: Account) async throws {
        try await change(.placeOrder, for: account)
    }

    /// Lets `account` get so many pages of its orders, and then one failure.
    func breakOrders(of account: Account, after pages: Int) async throws {
        try await change(.breakOrders(after: pages), for: account)
    }

    private func change(_ change: DebugChange, for account: Account) async throws {
        guard let token = account.headers["X-Token"] else { throw StepFailure("nobody is signed in") }
        try await DebugRequest(change, token: token, proxy: proxy).value()
    }
}
