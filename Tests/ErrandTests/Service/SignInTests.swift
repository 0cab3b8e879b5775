import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// Logins by the user, and cancelled logins.
@MainActor @Suite("Signing in by the user", .hangLimit, .timeLimit(.minutes(10)))
struct SignInTests {
    private let screen = Screen()
    private let account = Account()

    /// Accepts every login, and refuses all tokens but `valid`; responses `/slow` after `gate` has opened.
    private func proxy(_ valid: String, _ gate: Latch) -> APIProxy {
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("login") { return .json(goodsJSON([])) }
            if request.url.path.hasSuffix("slow"), request.headers["X-Token"] != valid { try await gate.wait() }
            return request.headers["X-Token"] == valid ? .json(goodsJSON([])) : .status(401)
        }
        return APIProxy(fake: transport, service: service)
    }

    private func request(_ path: String, _ proxy: APIProxy) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.path = path
        request.method = .get
        request.customLogin = path == "/login"
        return request
    }

    @Test func `After a relogin that failed, a load that was sent before needs no other login`() async {
        let gate = Latch()
        let proxy = proxy("mine", gate)
        let slow = request("/slow", proxy)
        slow.loadData()
        await (proxy.transport as? ScriptedTransport)?.waitForRequests()
        account.fails = true
        let other = request("/goods", proxy)
        other.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        account.setToken("mine")
        let login = request("/login", proxy)
        login.loadData()
        #expect(await screen.ending() == .success)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1)
    }

    @Test func `A login that is cancelled with all waiting loads reports no expired session`() async {
        let never = Latch()
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("login") { try await never.wait() }
            return request.headers["X-Token"] == "t2" ? .json(goodsJSON([])) : .status(401)
        }
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        let proxy = APIProxy(fake: transport, service: service)
        account.login = { [self] in _ = try await request("/login", proxy).value() }
        let load = request("/goods", proxy)
        load.loadData()
        await transport.waitForRequests(2)
        proxy.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        await suspend(while: service.login.currentGeneration == nil)
        #expect(service.login.currentGeneration == 0, "whoever comes late needs a login still")
        #expect(account.expiries == 0)
        account.login = nil
        load.loadData()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 2)
    }
}
