import ErrandTesting
import Foundation
import Testing

@testable import Errand

@MainActor @Suite("A session expires once, and nothing of it reaches the next", .timeLimit(.minutes(1)))
struct SessionTests {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    private func proxy(
        _ transport: ScriptedTransport,
        limits: RequestLimits = RequestLimits(),
        cookies: CookieJar = CookieJar()
    ) -> APIProxy {
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.retryPolicy = RetryPolicy()
        }
        return APIProxy(service: service, transport: transport, cookies: cookies, limits: limits, clock: clock)
    }

    private func refusing(but valid: String? = nil) -> ScriptedTransport {
        ScriptedTransport { $0.headers["X-Token"] == valid ? .json(goodsJSON([])) : .status(401) }
    }

    private func load(_ proxy: APIProxy, _ path: String = "/goods") -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.path = path
        request.method = .get
        request.loadData()
        return request
    }

    // MARK: Expiry

    @Test(.fault(38)) func `However often a relogin fails, the screen hears of one expired session`() async {
        let proxy = proxy(refusing(but: "t4"))
        account.fails = true
        for _ in 0..<3 {
            let request = load(proxy)
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(!request.isLoading)
        }
        #expect(account.logins == 3)
        #expect(account.expiries == 1)
        account.fails = false
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        #expect(account.logins == 4)
        account.fails = true
        account.setToken("stale")
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.expiries == 2, "a new session can expire once more")
    }

    @Test func `A login request that succeeds begins a session which can expire`() async {
        let proxy = proxy(ScriptedTransport { $0.url.path.hasSuffix("login") ? .json(goodsJSON([])) : .status(401) })
        account.fails = true
        for expiries in 1...2 {
            let request = load(proxy)
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(!request.isLoading)
            #expect(account.expiries == expiries)
            let login = GoodsRequest(delegate: screen, proxy: proxy)
            login.path = "/login"
            login.ownLogin = true
            login.loadData()
            #expect(await screen.ending() == .success)
        }
    }

    @Test(.fault(39)) func `A sixth login within 30 seconds is not attempted`() async {
        let transport = refusing(but: "never")
        let proxy = proxy(transport)
        var requests: [GoodsRequest] = []
        for _ in 0..<8 {
            requests.append(load(proxy))
            #expect(await screen.ending() == .failure(.loginExpired))
        }
        #expect(account.logins == 5)
        #expect(account.expiries == 1)
        #expect(requests[7].error?.reason?.contains("5 logins in 30 s") == true)
        #expect(transport.requests.count == 5 * 2 + 3, "one replay for each login, none without")
        clock.advance(by: .seconds(31))
        requests[0].loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.logins == 6)
    }

    // MARK: A handler that misbehaves

    @Test(.fault(41))
    func `A handler that never returns fails its waiters at its deadline, and its late return counts for nothing`()
        async
    {
        let late = Latch()
        account.login = { await late.waitUncancelled() }
        let transport = refusing(but: "t1")
        let proxy = proxy(transport)
        let requests = (0..<5).map { _ in load(proxy) }
        await clock.waitForSleepers()
        while transport.requests.count < 1 || account.logins == 0 { await Task.yield() }
        clock.advance(by: .seconds(60))
        #expect(await screen.endings(5) == Array(repeating: .failure(.loginExpired), count: 5))
        #expect(account.expiries == 1)
        #expect(requests[0].error?.reason?.contains("too long") == true)
        late.open()
        await sentinel(proxy)
        #expect(screen.events.count == 5)
        #expect(clock.sleepers == 0)
    }

    @Test(.fault(41), arguments: ["refused", "lost", "cancelled"])
    func `A login request that fails in the handler ends the waiters`(_ how: String) async {
        let proxy = proxy(
            ScriptedTransport { request in
                guard request.url.path.hasSuffix("login") else { return .status(401) }
                if how == "lost" { throw TransportError(.timeout, "too slow") }
                if how == "cancelled" { throw TransportError(.cancelled, "cancelled") }
                return .status(401)
            }
        )
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            login.path = "/login"
            login.ownLogin = true
            _ = try await login.value()
        }
        let gate = Latch()
        account.gate = gate
        let requests = (0..<3).map { _ in load(proxy) }
        while proxy.defaultService?.relogin.waiterCount != 3 { await Task.yield() }
        gate.open()
        #expect(await screen.endings(3) == Array(repeating: .failure(.loginExpired), count: 3))
        #expect(account.logins == 1)
        #expect(requests.allSatisfy { $0.error?.underlying is APIError })
        #expect(proxy.activeRequests.isEmpty)
    }

    // MARK: The end of a session

    /// Where a load of the old account may be when the account changes.
    enum Whereabouts: CaseIterable, Sendable {
        case queued, underWay, inBackOff, waitingForRelogin, waitingToStart
    }

    @Test(.fault(42), arguments: Whereabouts.allCases, [false, true])
    func `No load of the old account is sent with the new one's token or cookies`(
        _ place: Whereabouts,
        _ switches: Bool
    ) async {
        let (old, new) = (CookieJar(), CookieJar())
        old.store(setCookie: "sid=old; Path=/", from: URL("http://shop.test/"))
        new.store(setCookie: "sid=new; Path=/", from: URL("http://shop.test/"))
        let (gate, login) = (Latch(), Latch())
        let transport = ScriptedTransport { request in
            guard request.headers["X-Token"] != "new" else { return .json(goodsJSON([])) }
            switch place {
            case .queued, .underWay: await gate.waitUncancelled()
            case .inBackOff: return .status(503)
            case .waitingForRelogin, .waitingToStart: return .status(401)
            }
            return HTTPResponse(status: 200, headers: ["Set-Cookie": "late=1; Path=/"])
        }
        account.login = { await login.waitUncancelled() }
        let proxy = proxy(transport, limits: RequestLimits(perHost: 1), cookies: old)
        var requests = [load(proxy)]
        await transport.waitForRequests(1)
        switch place {
        case .queued:
            requests.append(load(proxy))
            while proxy.queuedCount == 0 { await Task.yield() }
        case .underWay: break
        case .inBackOff: await clock.waitForSleepers()
        case .waitingForRelogin, .waitingToStart:
            while account.logins == 0 { await Task.yield() }
            if place == .waitingToStart { requests.append(load(proxy)) }
        }
        if switches { proxy.switchAccount(to: new) } else { proxy.logout() }
        account.setToken("new")
        #expect(await screen.endings(requests.count) == Array(repeating: .cancel, count: requests.count))
        requests.append(load(proxy))
        gate.open()
        clock.advance(by: .seconds(100))
        #expect(await screen.ending() == .success)
        // Not before: this late handler puts a token of its own in the place of the new one.
        login.open()
        await sentinel(proxy)
        let sent = transport.requests.map { [$0.headers["X-Token"], $0.headers["Cookie"]] }
        #expect(sent == [["t0", "sid=old"], ["new", switches ? "sid=new" : nil]])
        #expect(proxy.cookies.header(for: URL("http://shop.test/")) == (switches ? "sid=new" : nil))
        #expect(account.expiries == 0)
        #expect(screen.events.count == requests.count)
    }

    @Test(.fault(42)) func `A load whose account changes while it begins is not sent`() async {
        let (old, new) = (CookieJar(), CookieJar())
        old.store(setCookie: "sid=old; Path=/", from: URL("http://shop.test/"))
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport, cookies: old)
        let validator = ValidatorSpy()
        validator.acceptsParams = { [account] _ in
            proxy.switchAccount(to: new)
            account.setToken("new")
            return true
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.validator = validator
        request.loadData()
        #expect(await screen.ending() == .cancel)
        await sentinel(proxy)
        #expect(transport.requests.isEmpty)
    }

    @Test(.fault(42)) func `A load whose account changes while its headers are asked for is not sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport)
        proxy.defaultService?.commonHeaders = { [weak proxy] in
            proxy?.switchAccount(to: CookieJar())
            return ["X-Token": "new"]
        }
        let request = load(proxy)
        #expect(await screen.ending() == .cancel)
        await sentinel(proxy)
        #expect(transport.requests.isEmpty)
        #expect(!request.isLoading)
    }

    @Test func `A logout inside the handler ends its waiters as cancelled`() async {
        let proxy = proxy(refusing())
        account.login = { [proxy] in proxy.logout() }
        let requests = (0..<3).map { _ in load(proxy) }
        #expect(await screen.endings(3) == [.cancel, .cancel, .cancel])
        #expect(requests.allSatisfy { !$0.isLoading })
        #expect(account.expiries == 0)
    }

    @Test func `Another service's loads and plain calls go on`() async throws {
        let gate = Latch()
        let proxy = proxy(
            ScriptedTransport { _ in
                try await gate.wait()
                return .json(goodsJSON([]))
            }
        )
        let other = GoodsRequest(delegate: screen, proxy: proxy)
        other.ownService = .sample()
        other.loadData()
        let call = Task { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain"))) }
        while proxy.activeRequests.count < 2 { await Task.yield() }
        proxy.logout()
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(try await call.value.status == 200)
    }
}
