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

    /// A load that is sent before a sign-in, and that request; a relogin would end the session.
    private func requests(of proxy: APIProxy) async -> (slow: GoodsRequest, login: GoodsRequest) {
        account.fails = true
        let slow = request("/slow", proxy)
        slow.loadData()
        await (proxy.transport as? ScriptedTransport)?.waitForRequests()
        return (slow, request("/login", proxy))
    }

    @Test func `A refused sign-in whose status is accepted begins no session`() async {
        let proxy = APIProxy(fake: ScriptedTransport { _ in .json(goodsJSON([]), status: 401) })
        let login = request("/login", proxy)
        login.ownOptions.acceptedStatuses = [401]
        login.loadData()
        #expect(await screen.ending() == .success)
        #expect(proxy.defaultService?.login.sessions.begun == 0)
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

    @Test func `A relogin that waits for an earlier handler is not needed after a sign-in`() async {
        let (gate, returns) = (Latch(), Latch())
        let proxy = proxy("mine", gate)
        account.login = { await returns.waitIgnoringCancellation() }
        let first = request("/first", proxy)
        first.loadData()
        await suspend(while: account.logins == 0)
        proxy.logout()
        #expect(await screen.ending() == .cancelled)
        let second = request("/second", proxy)
        second.loadData()
        await suspend(while: proxy.defaultService?.login.waiterCount != 1)
        account.setToken("mine")
        request("/login", proxy).loadRetainingSelf()
        #expect(await screen.ending() == .success)
        account.fails = true
        returns.open()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1 && account.token == "mine")
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
        proxy.cancelRequests(proxy.activeRequests.map(\.id))
        #expect(await screen.ending() == .cancelled)
        await suspend(while: service.login.currentGeneration == nil)
        #expect(service.login.currentGeneration == 0, "whoever comes late needs a login still")
        #expect(account.expiries == 0)
        account.login = nil
        load.loadData()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 2)
    }

    @Test(.fault(40), .blocksThread)
    func `A load that is refused while the delegate of a sign-in keeps its token is sent again with that`() async {
        let gate = Latch()
        let proxy = proxy("mine", gate)
        let (slow, login) = await requests(of: proxy)
        screen.onEvent = { [account] request, _ in
            guard request === login else { return }
            gate.open()
            spin(while: proxy.defaultService?.login.waiterCount != 1)
            account.setToken("mine")
        }
        login.loadData()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(account.logins == 0 && account.expiries == 0)
        let transport = proxy.transport as? ScriptedTransport
        #expect(transport?.requests.map { $0.headers["X-Token"] } == ["t0", "t0", "mine"])
        withExtendedLifetime(slow) {}
    }

    @Test func `What is loaded when the delegate of a sign-in has its token need not be loaded once more`() async {
        let proxy = proxy("mine", Latch())
        let (login, home) = (request("/login", proxy), request("/home", proxy))
        screen.onEvent = { [account] request, _ in
            guard request === login else { return }
            account.setToken("mine")
            home.loadData()
        }
        login.loadData()
        #expect(await screen.endings(2) == [.success, .success])
        home.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect((proxy.transport as? ScriptedTransport)?.requests.count == 2)
    }

    @Test(.blocksThread) func `A logout in the delegate of a sign-in begins a session of its own`() async {
        let proxy = proxy("t1", Latch())
        let (login, home) = (request("/login", proxy), request("/home", proxy))
        screen.onEvent = { request, _ in
            guard request === login else { return }
            proxy.logout()
            home.loadData()
            spin(while: proxy.defaultService?.login.waiterCount != 1)
        }
        login.loadData()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(account.logins == 1 && account.expiries == 0)
    }

    /// A proxy whose relogin waits for a login request without a response, and which refuses all tokens but `valid`.
    private func proxyWithoutLogin(_ valid: String) -> (APIProxy, ScriptedTransport) {
        let never = Latch()
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("login") { try await never.wait() }
            return request.headers["X-Token"] == valid ? .json(goodsJSON([])) : .status(401)
        }
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        let proxy = APIProxy(service: service, transport: transport, clock: ManualClock())
        account.login = { [self] in _ = try await request("/login", proxy).value() }
        return (proxy, transport)
    }

    @Test(.fault(41), .blocksThread)
    func `A load that begins when a login is cancelled with all refused loads is sent, and has a relogin of its own`()
        async
    {
        let (proxy, transport) = proxyWithoutLogin("t2")
        let (refused, new) = (request("/refused", proxy), request("/new", proxy))
        refused.loadData()
        await transport.waitForRequests(2)
        proxy.cancelRequests(proxy.activeRequests.map(\.id))
        account.login = nil
        new.loadData()
        // Without a yield, because the handler, whose login request is cancelled, waits for the main actor.
        spin(while: proxy.defaultService?.login.waiterCount != 1)
        #expect(await screen.ending() == .cancelled)
        #expect(await screen.ending() == .success)
        #expect(account.expiries == 0)
        #expect(account.logins == 2)
        #expect(transport.requests.map { $0.url.lastPathComponent } == ["refused", "login", "new", "new"])
        #expect(transport.requests.map { $0.headers["X-Token"] } == ["t0", "t0", "t0", "t2"])
        #expect(!refused.isLoading && !new.isLoading)
    }

    @Test func `Logins that are cancelled with all waiting loads are none that did not help`() async {
        let (proxy, transport) = proxyWithoutLogin("t7")
        let load = request("/goods", proxy)
        for logins in 1...6 {
            load.loadData()
            // A relogin that is one too many ends the load.
            await suspend(while: transport.requests.count < 2 * logins && screen.events.count < logins)
            proxy.cancelRequests(proxy.activeRequests.map(\.id))
            #expect(await screen.ending() == .cancelled)
            await suspend(while: proxy.defaultService?.login.currentGeneration == nil)
        }
        account.login = nil
        load.loadData()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 7 && account.expiries == 0)
        #expect(!load.isLoading)
    }

    @Test(.fault(40))
    func `A load that was sent before a sign-in, and is refused after it, is sent again without a relogin`() async {
        let gate = Latch()
        let proxy = proxy("mine", gate)
        let (slow, login) = await requests(of: proxy)
        login.loadData()
        #expect(await screen.ending() == .success)
        account.setToken("mine")
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 0 && account.expiries == 0)
        let sent = (proxy.transport as? ScriptedTransport)?.requests ?? []
        #expect(sent.map { $0.url.lastPathComponent } == ["slow", "login", "slow"])
        #expect(!slow.isLoading && !login.isLoading)
    }
}
