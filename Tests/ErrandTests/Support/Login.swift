import ErrandTesting
import FixtureServer
import Foundation

@testable import Errand

/// A relogin handler that increments its token.
@MainActor final class Account: ReloginHandler {
    struct WrongPassword: Error {}

    private let current = Lock("t0")
    private(set) var logins = 0
    private(set) var expiries = 0
    private(set) var expiryMessage: String?
    var fails = false
    var gate: Latch?
    var loginRenewalDate: Date?
    var login: (@MainActor () async throws -> Void)?
    var onExpiry: () -> Void = {}

    func setToken(_ token: String) { current.withLock { $0 = token } }

    nonisolated var token: String { current.withLock { $0 } }

    func relogin() async throws {
        logins += 1
        try await gate?.wait()
        try await login?()
        if fails { throw WrongPassword() }
        current.withLock { $0 = "t\(logins)" }
    }

    func sessionDidExpire(_ error: APIError) {
        expiries += 1
        expiryMessage = error.message
        onExpiry()
    }
}

/// How a server reports an expired login.
enum LoginExpiryFormat: CaseIterable, Sendable {
    case status, code

    private static let envelope = #"{"errcode":11010,"msg":"expired"}"#

    /// The response of a scripted transport.
    var response: HTTPResponse {
        switch self {
        case .status: .json("{}", status: 401)
        case .code: .json(Self.envelope)
        }
    }

    /// The response of a fixture server.
    var served: Response {
        switch self {
        case .status: .status(401)
        case .code: .json(bytes: Self.envelope.utf8)
        }
    }
}

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
        cookies: CookieJar = CookieJar(),
        reachability: Reachability = Reachability(status: .unknown)
    ) -> APIProxy {
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.retryPolicy = RetryPolicy()
        }
        return APIProxy(
            service: service,
            transport: transport,
            cookies: cookies,
            queueLimits: limits,
            reachability: reachability,
            clock: clock
        )
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
