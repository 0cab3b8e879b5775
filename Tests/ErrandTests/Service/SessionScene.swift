import ErrandTesting
import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// A suite with a screen and an account, whose session may end.
@MainActor protocol SessionScene {
    var screen: Screen { get }
    var account: Account { get }
    var clock: ManualClock { get }
}

extension SessionScene {
    func proxy(
        _ transport: ScriptedTransport,
        limits: QueueLimits = QueueLimits(),
        cookies: CookieJar = CookieJar()
    ) -> APIProxy {
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.retryPolicy = RetryPolicy()
        }
        return APIProxy(service: service, transport: transport, cookies: cookies, queueLimits: limits, clock: clock)
    }

    /// Responds with 401 to every token but `valid`.
    func refusing(but valid: String? = nil) -> ScriptedTransport {
        ScriptedTransport { $0.headers["X-Token"] == valid ? .json(goodsJSON([])) : .status(401) }
    }

    func load(_ proxy: APIProxy, _ path: String = "/goods") -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.path = path
        request.method = .get
        request.loadData()
        return request
    }
}
