import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A session expires once, whatever the result of its relogin", .hangLimit, .timeLimit(.minutes(10)))
struct SessionTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    // MARK: Expiry

    @Test(.fault(38)) func `However often a relogin fails, one expired session is reported`() async {
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

    @Test func `A successful login request begins a session that can expire`() async {
        let proxy = proxy(ScriptedTransport { $0.url.path.hasSuffix("login") ? .json(goodsJSON([])) : .status(401) })
        account.fails = true
        for expiries in 1...2 {
            let request = load(proxy)
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(!request.isLoading)
            #expect(account.expiries == expiries)
            let login = GoodsRequest(delegate: screen, proxy: proxy)
            login.path = "/login"
            login.customLogin = true
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
        #expect(transport.requests.count == 13, "each of five logins has a replay, and three loads have neither")
        clock.advance(by: .seconds(31))
        requests[0].loadData()
        #expect(await screen.endings(of: [requests[0]]) == [.failure(.loginExpired)])
        #expect(account.logins == 6)
    }

    // MARK: A handler that misbehaves

    @Test(.fault(41))
    func `A handler that never returns fails its waiters at its deadline, and its late return has no effect`()
        async
    {
        let late = Latch()
        account.login = { await late.waitIgnoringCancellation() }
        let transport = refusing(but: "t1")
        let proxy = proxy(transport)
        let requests = (0..<5).map { _ in load(proxy) }
        await clock.waitForSleepers()
        await suspend(while: transport.requests.count < 1 || account.logins == 0)
        clock.advance(by: .seconds(60))
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.loginExpired), count: 5))
        #expect(account.expiries == 1)
        #expect(requests[0].error?.reason?.contains("too long") == true)
        late.open()
        await sentinel(proxy)
        #expect(screen.events.count == 5)
        #expect(clock.sleepers == 0)
    }

    @Test(.fault(41)) func `A handler that ends by its deadline does not change the error of its waiters`() async {
        account.login = { try await Latch().wait() }
        for logins in 1...100 {
            let proxy = proxy(refusing())
            let request = load(proxy)
            await suspend(while: account.logins < logins || proxy.defaultService?.login.waiterCount != 1)
            await clock.waitForSleepers()
            clock.advance(by: .seconds(60))
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(request.error?.reason?.contains("too long") == true)
        }
    }

    /// Refuses every token, and ends the login request of the account's handler as `login` does.
    private func proxy(login: @escaping @Sendable () throws -> HTTPResponse) -> APIProxy {
        let proxy = proxy(
            ScriptedTransport { request in
                try request.url.path.hasSuffix("login") ? login() : .status(401)
            }
        )
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            login.path = "/login"
            login.customLogin = true
            login.ownOptions.retryPolicy = RetryPolicy.never
            _ = try await login.value()
        }
        return proxy
    }

    @Test(
        .fault(41),
        arguments: zip(
            ["refused", "cancelled", "lost", "slow", "offline", "faulty", "busy"],
            [APIErrorType.loginExpired, .loginExpired, .transport, .timeout, .noNetwork, .http, .http]
        )
    )
    func `A login request that fails in the handler ends the waiters`(_ how: String, _ type: APIErrorType) async {
        let faults: [String: TransportError.Kind] = [
            "cancelled": .cancelled, "lost": .connectionLost, "slow": .timeout, "offline": .noNetwork,
        ]
        let statuses = ["faulty": 502, "busy": 429]
        let proxy = proxy {
            if let kind = faults[how] { throw TransportError(kind, how) }
            return .status(statuses[how] ?? 401)
        }
        let gate = Latch()
        account.gate = gate
        let requests = (0..<3).map { _ in load(proxy) }
        await suspend(while: proxy.defaultService?.login.waiterCount != 3)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(type), count: 3))
        #expect(account.logins == 1)
        #expect(account.expiries == (type == .loginExpired ? 1 : 0), "a server that has no verdict ends no session")
        #expect(requests.allSatisfy { $0.error?.underlying is APIError })
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `A request of a relogin waits for no long Retry-After`() async {
        let transport = ScriptedTransport { request in
            request.url.path.hasSuffix("login") ? .status(503, headers: ["Retry-After": "3600"]) : .status(401)
        }
        let proxy = proxy(transport)
        account.login = { [proxy] in
            try await APIRequest<Void>("/login", method: .post, isLoginRequest: true, proxy: proxy).value()
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.http))
        #expect(account.logins == 1 && account.expiries == 0)
        #expect(transport.requests.count { $0.url.path.hasSuffix("login") } == 1)
        #expect(!request.isLoading)
    }

    @Test func `A late refusal of the old login does not remove the cookie of the new one`() async {
        let late = Latch()
        let url = APIService.sample().baseURL
        let transport = ScriptedTransport { request in
            if request.headers["Cookie"] == "sid=new" { return .json(goodsJSON([])) }
            if request.url.path.hasSuffix("late") { try await late.wait() }
            return .status(401, headers: ["Set-Cookie": "sid=; Max-Age=0; Path=/"])
        }
        let proxy = proxy(transport)
        proxy.cookies.store(setCookie: "sid=old; Path=/", from: url)
        account.login = { [proxy] in proxy.cookies.store(setCookie: "sid=new; Path=/", from: url) }
        let requests = [load(proxy, "/late")]
        await transport.waitForRequests()
        let early = load(proxy)
        #expect(await screen.ending() == .success)
        late.open()
        #expect(await screen.ending() == .success)
        #expect(proxy.cookies.cookies.map(\.value) == ["new"])
        #expect(account.logins == 1 && transport.requests.count == 4)
        withExtendedLifetime((requests, early)) {}
    }

    @Test func `A load that did not wait for an unreachable login server asks it again`() async {
        let (late, tries) = (Latch(), Counter())
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("login") {
                guard tries.next() > 1 else { throw TransportError(.noNetwork, "no route") }
                return .json(goodsJSON([]))
            }
            if request.url.path.hasSuffix("late"), request.headers["X-Token"] == "t0" { try await late.wait() }
            return request.headers["X-Token"] == "t0" ? .status(401) : .json(goodsJSON([]))
        }
        let proxy = proxy(transport)
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            (login.path, login.customLogin, login.ownOptions.retryPolicy) = ("/login", true, RetryPolicy.never)
            _ = try await login.value()
        }
        let requests = [load(proxy, "/late")]
        await transport.waitForRequests()
        let early = load(proxy)
        #expect(await screen.ending() == .failure(.noNetwork))
        late.open()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 2 && account.expiries == 0)
        withExtendedLifetime((requests, early)) {}
    }

    @Test func `The reason of a renewal that failed quotes no text of the login server`() async {
        let proxy = proxy { .json(#"{"errcode":5,"msg":"s3cret"}"#, status: 503) }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.http))
        #expect(request.error.map { "\($0)".contains("s3cret") } == false)
        #expect(request.error?.reason == "the login could not be renewed")
    }

    @Test func `A login server that cannot be reached never ends the session, however often it is asked`() async {
        let returns = Counter()
        let proxy = proxy {
            guard returns.count > 0 else { throw TransportError(.noNetwork, "no route") }
            return .status(401)
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.noNetwork))
        for _ in 1..<8 {
            request.loadData()
            #expect(await screen.ending() == .failure(.noNetwork))
        }
        #expect(account.logins == 5)
        #expect(account.expiries == 0)
        _ = returns.next()
        clock.advance(by: .seconds(31))
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.expiries == 1)
    }

    @Test(arguments: [APIErrorType.loginExpired, .noNetwork])
    func `A relogin that fails after the user has signed in fails no load`(_ type: APIErrorType) async {
        let gate = Latch()
        account.login = {
            try await gate.wait()
            throw APIError(type)
        }
        let proxy = proxy(
            ScriptedTransport { request in
                let isValid = request.headers["X-Token"] == "fresh" || request.url.path.hasSuffix("login")
                return isValid ? .json(goodsJSON([])) : .status(401)
            }
        )
        let refused = load(proxy)
        await suspend(while: proxy.defaultService?.login.waiterCount != 1)
        let signIn = GoodsRequest(proxy: proxy)
        (signIn.path, signIn.customLogin) = ("/login", true)
        _ = try? await signIn.value()
        account.setToken("fresh")
        let newer = load(proxy)
        gate.open()
        #expect(await screen.endings(of: [refused, newer]) == [.success, .success])
        #expect(account.logins == 1 && account.expiries == 0)
    }

    @Test(.blocksThread) func `A load of the screen that shows that the session has expired is sent`() async {
        let transport = ScriptedTransport { $0.url.path.hasSuffix("captcha") ? .json(goodsJSON([])) : .status(401) }
        let proxy = proxy(transport)
        account.fails = true
        var captcha: GoodsRequest?
        // In the turn of the main actor that the handler has, the load reaches the relogin.
        account.onExpiry = { [account] in
            captcha = load(proxy, "/captcha")
            account.onExpiry = {}
            spin(while: proxy.defaultService?.login.waiterCount != 2)
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(await screen.ending() == .success)
        #expect(captcha?.isSuccess == true && account.expiries == 1 && account.logins == 1)
        withExtendedLifetime(request) {}
    }

    @Test func `A sign-in that is delivered before the expiry is reported ends the relogin`() async {
        let proxy = proxy(
            ScriptedTransport { request in
                let isValid = request.headers["X-Token"] == "fresh" || request.url.path.hasSuffix("login")
                return isValid ? .json(goodsJSON([])) : .status(401)
            }
        )
        account.fails = true
        account.onExpiry = { [account] in
            // As a modal alert whose run loop delivers the ending of the sign-in.
            account.setToken("fresh")
            proxy.defaultService?.login.didSignIn()
        }
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        #expect(account.expiries == 1)
        account.setToken("stale")
        account.onExpiry = {}
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.expiries == 2, "the session that the sign-in has begun can expire")
    }

    @Test func `Only logins that have not reached the server are forgotten after one that has`() async {
        let logins = Counter()
        let proxy = proxy {
            // Every second one is lost, and none helps.
            guard logins.next() % 2 == 1 else { throw TransportError(.noNetwork, "no route") }
            return .json(goodsJSON([]))
        }
        let request = load(proxy)
        _ = await screen.ending()
        for _ in 1..<30 {
            request.loadData()
            _ = await screen.ending()
        }
        #expect(account.logins == 8, "four that have reached the server, as many that have not, and no fifth")
        #expect(account.expiries == 0)
    }

    @Test func `A login that could not be completed ends no session when too many others could not`() async {
        let isReachable = Counter()
        let proxy = proxy(
            ScriptedTransport { request in
                switch request.url.lastPathComponent {
                case "login" where isReachable.count == 0: throw TransportError(.noNetwork, "no route")
                case "login": .json(goodsJSON([]))
                case "profile": throw TransportError(.noNetwork, "no route")
                default: .status(401)
                }
            }
        )
        account.login = { [proxy] in
            for path in ["/login", "/profile"] {
                let request = GoodsRequest(proxy: proxy)
                (request.path, request.customLogin, request.ownOptions.retryPolicy) = (path, path == "/login", .never)
                _ = try await request.value()
            }
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.noNetwork))
        for _ in 1..<5 {
            request.loadData()
            #expect(await screen.ending() == .failure(.noNetwork))
        }
        _ = isReachable.next()
        account.loginRenewalDate = clock.date
        request.loadData()
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(account.expiries == 0)
    }

    @Test func `A sign-in that its validator refuses begins no session`() async {
        account.fails = true
        let transport = ScriptedTransport {
            $0.url.path.hasSuffix("login") ? .json(goodsJSON([])) : .status(401)
        }
        let request = load(proxy(transport))
        #expect(await screen.ending() == .failure(.loginExpired))
        let (signIn, validator) = (GoodsRequest(delegate: screen, proxy: request.proxy), ValidatorSpy())
        (signIn.path, signIn.customLogin, signIn.validator) = ("/login", true, validator)
        for (isAccepted, expiries) in [(false, 1), (true, 2)] {
            validator.acceptsContent = { _ in isAccepted }
            signIn.loadData()
            #expect(await screen.ending() == (isAccepted ? .success : .failure(.invalidResponse)))
            request.loadData()
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(account.expiries == expiries)
        }
    }

    @Test func `A sign-in inside the handler does not make the limit of logins start again`() async {
        let proxy = proxy(
            ScriptedTransport { request in
                switch request.url.lastPathComponent {
                case "login": .json(goodsJSON([]))
                case "profile": .status(503)
                default: .status(401)
                }
            }
        )
        account.login = { [proxy] in
            for path in ["/login", "/profile"] {
                let request = GoodsRequest(proxy: proxy)
                (request.path, request.customLogin, request.ownOptions.retryPolicy) = (path, path == "/login", .never)
                _ = try await request.value()
            }
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.http))
        for _ in 1..<12 {
            request.loadData()
            #expect(await screen.ending() == .failure(.http))
        }
        #expect(account.logins == 5)
    }

    @Test func `Logins that have not reached the server do not count after the user has signed in`() async {
        let isReachable = Counter()
        let proxy = proxy {
            guard isReachable.count > 0 else { throw TransportError(.noNetwork, "no route") }
            return .json(goodsJSON([]))
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.noNetwork))
        for _ in 1..<5 {
            request.loadData()
            #expect(await screen.ending() == .failure(.noNetwork))
        }
        _ = isReachable.next()
        let signIn = GoodsRequest(delegate: screen, proxy: proxy)
        (signIn.path, signIn.customLogin) = ("/login", true)
        signIn.loadData()
        #expect(await screen.ending() == .success)
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.logins == 6)
    }
}
