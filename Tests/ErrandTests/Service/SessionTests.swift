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

    @Test(.fault(39)) func `Logins that help are no loop, up to one for each second`() async {
        let tries = Counter()
        // Each token is accepted once.
        let proxy = proxy(ScriptedTransport { _ in tries.next() % 2 == 1 ? .json(goodsJSON([])) : .status(401) })
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        for _ in 0..<30 {
            request.loadData()
            #expect(await screen.ending() == .success)
        }
        #expect(account.logins == 30 && account.expiries == 0)
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(request.error?.reason?.contains("30 logins in 30 s") == true)
    }

    @Test(.fault(39)) func `Logins whose loads are cancelled before they end are no loop`() async {
        let tries = Counter()
        let proxy = proxy(
            ScriptedTransport { _ in
                if tries.next() % 2 == 1 { return .status(401) }
                try await Latch().wait()
                return .json(goodsJSON([]))
            }
        )
        for logins in 1...8 {
            let request = load(proxy)
            await suspend(while: tries.count < 2 * logins)
            request.cancelAllRequests()
            #expect(await screen.ending() == .cancelled)
            #expect(account.logins == logins)
        }
        #expect(account.expiries == 0)
    }

    @Test(.fault(39), arguments: [true, false])
    func `Nor are logins whose loads end while they run`(_ isCancelled: Bool) async {
        let proxy = proxy(refusing(but: "never"))
        let session = proxy.defaultService?.login
        for logins in 1...8 {
            let gate = Latch()
            account.gate = gate
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.ownOptions.deadline = .seconds(1)
            request.loadData()
            await suspend(while: account.logins < logins || session?.waiterCount != 1)
            if isCancelled { request.cancelAllRequests() } else { clock.advance(by: .seconds(1)) }
            #expect(await screen.ending() == (isCancelled ? .cancelled : .failure(.timeout)))
            gate.open()
            await suspend(while: session?.currentGeneration != logins)
        }
        #expect(account.expiries == 0)
    }

    @Test(.fault(39)) func `Nor are logins whose loads use a stored response`() async throws {
        let (folder, tries) = (try TemporaryFolder(), Counter())
        let transport = ScriptedTransport { _ in
            let number = tries.next()
            guard number == 1 else { return .status(number % 2 == 0 ? 401 : 503) }
            return .json(goodsJSON([]), headers: ["Cache-Control": "max-age=0, stale-if-error=600"])
        }
        let service = APIService.sample { $0.reloginHandler = account }
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let proxy = APIProxy(service: service, transport: transport, clock: clock, cache: cache)
        for logins in 0...8 {
            let request = load(proxy)
            #expect(await screen.ending() == .success)
            #expect(account.logins == logins)
            withExtendedLifetime(request) {}
        }
        #expect(account.expiries == 0)
    }

    @Test(.fault(39)) func `Nor are logins whose loads are refused with another reason than the login`() async {
        let tries = Counter()
        let proxy = proxy(
            ScriptedTransport { _ in
                tries.next() % 2 == 1 ? .status(401) : .json(#"{"errcode":7,"msg":"scope"}"#, status: 401)
            }
        )
        proxy.defaultService?.isLoginExpired = { $0.body.isEmpty }
        for logins in 1...8 {
            let request = load(proxy)
            #expect(await screen.ending() == .failure(.http))
            #expect(account.logins == logins)
            withExtendedLifetime(request) {}
        }
        #expect(account.expiries == 0)
    }

    @Test(.fault(39)) func `Nor are logins after which a stream loses its connection`() async {
        let tries = Counter()
        let transport = ScriptedTransport { _ in
            let number = tries.next()
            if number == 1 { return HTTPResponse(status: 200, headers: ["Content-Type": "text/event-stream"]) }
            if number % 2 == 0 { return .status(401) }
            throw TransportError(.connectionLost, "the connection was lost")
        }
        let proxy = proxy(transport)
        let request = EventStream(delegate: screen, proxy: proxy)
        request.customStrategy = .events
        request.customStrategy?.maxReconnectionDelay = .milliseconds(100)
        request.ownOptions.reportsActivity = true
        var isWaiting: Bool { if case .waiting(.retry, _) = request.activity { true } else { false } }
        request.loadData()
        for logins in 0..<8 {
            await transport.waitForRequests(2 * logins + 1)
            await sentinel(proxy)
            await suspend(while: !isWaiting)
            await clock.waitForSleepers()
            #expect(account.logins == logins)
            clock.advance(by: .milliseconds(100))
        }
        await transport.waitForRequests(17)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(account.logins == 8 && account.expiries == 0)
    }

    @Test(.fault(39)) func `Logins are a loop before it is known that they have not helped`() async {
        let isKnown = Latch()
        let paths = Lock<Set<String>>([])
        let transport = ScriptedTransport { request in
            if !paths.withLock({ $0.insert(request.url.path).inserted }) { try await isKnown.wait() }
            return .status(401)
        }
        let proxy = proxy(transport)
        var requests: [GoodsRequest] = []
        for logins in 1...5 {
            requests.append(load(proxy, "/\(logins)"))
            await suspend(while: transport.requests.count < 2 * logins)
        }
        requests.append(load(proxy, "/6"))
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.logins == 5)
        isKnown.open()
        for _ in 1...5 { #expect(await screen.ending() == .failure(.loginExpired)) }
    }

    @Test(.fault(39), arguments: ["/api/login", "http://sso.test/login"])
    func `Logins after which a load is redirected to a refusal have not helped`(_ location: String) async {
        let isReplay = Lock(true)
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("login") { return .status(401) }
            let replays = isReplay.withLock { value in
                value.toggle()
                return value
            }
            return replays ? .status(302, headers: ["Location": location]) : .status(401)
        }
        let proxy = proxy(transport)
        for _ in 0..<8 {
            let request = load(proxy)
            _ = await screen.ending()
            withExtendedLifetime(request) {}
        }
        #expect(account.logins == 5)
        #expect(account.expiries == 1)
    }

    @Test(.fault(39)) func `After five failed logins the error has the cause of the last one`() async {
        account.fails = true
        let proxy = proxy(refusing(but: "never"))
        for _ in 0..<8 {
            let request = load(proxy)
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(request.error?.underlying is Account.WrongPassword)
        }
        #expect(account.logins == 5)
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
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.timeout), count: 5))
        #expect(account.expiries == 0)
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
            #expect(await screen.ending() == .failure(.timeout))
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

    @Test func `A request of a relogin waits for no network`() async {
        let transport = ScriptedTransport { request in
            guard request.url.path.hasSuffix("login") else { return .status(401) }
            throw TransportError(.noNetwork, "offline")
        }
        let proxy = proxy(transport, reachability: .scripted(.unreachable))
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            (login.path, login.customLogin, login.ownOptions.retryPolicy) = ("/login", true, RetryPolicy.never)
            login.ownOptions.retryPolicy?.waitsForConnectivity = true
            _ = try await login.value()
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(account.logins == 1 && account.expiries == 0)
        #expect(!request.isLoading && clock.sleepers == 0)
    }

    @Test func `A relogin that needs another service ends no session when that one's login server is busy`() async {
        let other = Account()
        let transport = ScriptedTransport { $0.url.path.hasSuffix("login") ? .status(429) : .status(401) }
        let proxy = proxy(transport)
        let gateway = APIService.sample {
            $0.reloginHandler = other
            $0.environment = APIEnvironment("gateway", baseURL: URL("http://gateway.test"))
        }
        other.login = { [proxy] in
            let login = APIRequest<Void>("/login", method: .post, service: gateway, isLoginRequest: true, proxy: proxy)
            try await login.value()
        }
        account.login = { [proxy] in
            try await APIRequest<Void>("/tickets", service: gateway, proxy: proxy).value()
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.http))
        #expect(other.logins == 1 && account.logins == 1)
        #expect(other.expiries == 0 && account.expiries == 0)
        #expect(!request.isLoading)
    }

    @Test(arguments: [401, 200])
    func `A late refusal of the old login does not remove the cookie of the new one`(_ status: Int) async {
        let late = Latch()
        let url = APIService.sample().baseURL
        let transport = ScriptedTransport { request in
            if request.headers["Cookie"] == "sid=new" { return .json(goodsJSON([])) }
            if request.url.path.hasSuffix("late") { try await late.wait() }
            let removal: HTTPHeaders = ["Set-Cookie": "sid=; Max-Age=0; Path=/"]
            return status == 401 ? .status(401, headers: removal) : .json(#"{"errcode":11010}"#, headers: removal)
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

    private func signIn(_ proxy: APIProxy) -> GoodsRequest {
        let login = GoodsRequest(delegate: screen, proxy: proxy)
        (login.path, login.customLogin) = ("/login", true)
        return login
    }

    @Test(arguments: [200, 400, 401], [true, false])
    func `What refuses a relogin does not remove the cookie of a sign-in that has overtaken it`(
        _ status: Int,
        _ isOfService: Bool
    ) async {
        let (late, url) = (Latch(), APIService.sample().baseURL)
        let transport = ScriptedTransport { request in
            switch request.url.lastPathComponent {
            case "login": return .json(goodsJSON([]), headers: ["Set-Cookie": "sid=new; Path=/"])
            case "refresh":
                try await late.wait()
                return .json("{}", status: status, headers: ["Set-Cookie": "sid=; Max-Age=0; Path=/"])
            default: return request.headers["Cookie"] == "sid=new" ? .json(goodsJSON([])) : .status(401)
            }
        }
        let proxy = proxy(transport)
        proxy.cookies.store(setCookie: "sid=old; Path=/", from: url, at: clock.date)
        account.login = { [proxy] in
            let service = isOfService ? nil : APIService.sample()
            _ = try? await APIRequest<Void>("/refresh", method: .post, service: service, proxy: proxy).value()
            throw Account.WrongPassword()
        }
        let request = load(proxy)
        await transport.waitForRequests(2)
        clock.advance(by: .seconds(1))
        let login = signIn(proxy)
        login.loadData()
        #expect(await screen.endings(of: [login]) == [.success])
        clock.advance(by: .seconds(1))
        late.open()
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(proxy.cookies.cookies.map(\.value) == ["new"])
        #expect(account.expiries == 0)
    }

    @Test(arguments: [401, 302], [true, false])
    func `A late refusal does not remove the cookie of a sign-in that has not ended yet`(
        _ status: Int,
        _ hasHandler: Bool
    ) async {
        let (late, gate, url) = (Latch(), Latch(), APIService.sample().baseURL)
        let transport = ScriptedTransport { request in
            if request.headers["Cookie"] == "sid=new" { return .json(goodsJSON([])) }
            guard request.url.lastPathComponent == "late" else {
                return .json(goodsJSON([]), headers: ["Set-Cookie": "sid=new; Path=/"])
            }
            try await late.wait()
            return .status(status, headers: ["Set-Cookie": "sid=; Max-Age=0; Path=/", "Location": "/login"])
        }
        let proxy = proxy(transport)
        proxy.defaultService?.redirectPolicy = .refuse
        proxy.defaultService?.isLoginExpired = { $0.headers["Location"] == nil ? nil : true }
        if !hasHandler { proxy.defaultService?.reloginHandler = nil }
        proxy.cookies.store(setCookie: "sid=old; Path=/", from: url, at: clock.date)
        let request = load(proxy, "/late")
        await transport.waitForRequests(1)
        clock.advance(by: .seconds(1))
        let login = signIn(proxy)
        login.ownOptions.adapters.response = [Adapter { _, _ in try await gate.wait() }]
        login.loadData()
        await suspend(while: proxy.cookies.cookies.first?.value != "new")
        clock.advance(by: .seconds(1))
        late.open()
        #expect(await screen.endings(of: [request]) == [hasHandler ? .success : .failure(.loginExpired)])
        #expect(proxy.cookies.cookies.map(\.value) == ["new"])
        gate.open()
        #expect(await screen.endings(of: [login]) == [.success])
    }

    @Test func `A refusal removes a cookie that was set by a redirect before it, or by itself`() async {
        let transport = ScriptedTransport { [clock] request in
            clock.advance(by: .seconds(1))
            guard request.url.lastPathComponent == "goods" else {
                let lines = ["sid=; Max-Age=0; Path=/", "lang=en; Path=/", "lang=; Max-Age=0; Path=/"]
                return .status(401, headers: HTTPHeaders(lines.map { HTTPField("Set-Cookie", $0) }))
            }
            return .status(302, headers: ["Location": "/login", "Set-Cookie": "sid=guest; Path=/"])
        }
        let proxy = proxy(transport)
        proxy.defaultService?.reloginHandler = nil
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "sid=guest"])
        #expect(proxy.cookies.cookies.isEmpty)
        withExtendedLifetime(request) {}
    }

    @Test func `Cookies of a success count whenever it was sent`() async {
        let (late, url) = (Latch(), APIService.sample().baseURL)
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("late") { try await late.wait() }
            guard request.headers["X-Token"] != "t0" || request.url.path.hasSuffix("late") else { return .status(401) }
            return .json(goodsJSON([]), headers: ["Set-Cookie": "csrf=\(request.url.lastPathComponent); Path=/"])
        }
        let proxy = proxy(transport)
        proxy.cookies.store(setCookie: "csrf=none; Path=/", from: url)
        let requests = [load(proxy, "/late")]
        await transport.waitForRequests()
        let early = load(proxy, "/early")
        #expect(await screen.ending() == .success)
        #expect(proxy.cookies.cookies.map(\.value) == ["early"] && account.logins == 1)
        late.open()
        #expect(await screen.ending() == .success)
        #expect(proxy.cookies.cookies.map(\.value) == ["late"])
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

    /// Has the account renew its login by a request to `/login`.
    private func signIn(by proxy: APIProxy) {
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            (login.path, login.customLogin) = ("/login", true)
            _ = try await login.value()
        }
    }

    @Test func `A page that the server itself sends in the place of a token ends the session`() async {
        let proxy = APIProxy(
            fake: ScriptedTransport { request in
                guard request.url.path.hasSuffix("login") else { return .status(401) }
                return HTTPResponse(status: 200, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8))
            },
            service: .sample {
                $0 = APIService(baseURL: URL("https://shop.test/api"))
                $0.reloginHandler = account
            }
        )
        signIn(by: proxy)
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.expiries == 1)
        withExtendedLifetime(request) {}
    }

    @Test func `The handler words the expiry by the error that it throws`() async {
        let texts = [("Go to the counter.", "Go to the counter."), (nil, "Please sign in again.")]
        for (message, expected) in texts + texts {
            let account = Account()
            let isOfLoad = screen.events.count >= texts.count
            account.login = {
                guard isOfLoad else { throw APIError(.loginExpired, message: message) }
                var error = APIError(.loginExpired).ofLoad(.next(), .post, path: "/login")
                    .worded(by: ErrorMessages { _ in "of the server" })
                if let message { error.message = message }
                throw error
            }
            let transport = ScriptedTransport { _ in .status(401) }
            let proxy = APIProxy(fake: transport, service: .sample { $0.reloginHandler = account })
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.loadData()
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(account.expiryMessage == expected)
        }
    }

    @Test func `A page in the place of a token, as of a captive portal, does not end the session`() async {
        let tries = Counter()
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("login") {
                guard tries.next() == 1 else { return .json(goodsJSON([])) }
                return HTTPResponse(status: 200, headers: ["Content-Type": "Text/HTML"], body: Data("<html>".utf8))
            }
            return request.headers["X-Token"] == "t0" ? .status(401) : .json(goodsJSON([]))
        }
        let proxy = proxy(transport)
        signIn(by: proxy)
        let first = load(proxy)
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(account.expiries == 0)
        let second = load(proxy)
        #expect(await screen.ending() == .success)
        #expect(account.logins == 2 && account.expiries == 0)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `The reason of a renewal that failed quotes no text of the login server`() async {
        let proxy = proxy { .json(#"{"errcode":5,"msg":"s3cret"}"#, status: 503) }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.http))
        #expect(request.error.map { "\($0)".contains("s3cret") } == false)
        #expect(request.error?.reason == "the login could not be renewed")
        #expect(request.error?.code == 5 && request.error?.message == "s3cret", "for the user, as of a maintenance")
        #expect(request.error?.response == nil)
    }

    @Test(arguments: [408, 425, 426, 429, 500, 503, 400, 401, 403, 404, 409])
    func `A login server that asks to come back later does not end the session`(_ status: Int) async {
        let proxy = proxy { .status(status) }
        let request = load(proxy)
        let endsSession = [400, 401, 403, 404, 409].contains(status)
        #expect(await screen.ending() == .failure(endsSession ? .loginExpired : .http))
        #expect(account.expiries == (endsSession ? 1 : 0))
        withExtendedLifetime(request) {}
    }

    @Test(arguments: [(426, false), (503, true), (426, true)])
    func `A status that says nothing of the login ends no session, whatever an adapter has made of the error`(
        _ status: Int,
        _ hasResponse: Bool
    ) async {
        let proxy = proxy { .status(status) }
        proxy.defaultService?.adapters.failure = [
            Adapter { error, _ in
                guard error.status == status else { return }
                let (response, cause) = hasResponse ? (error.response, nil) : (nil, error)
                error = APIError(.server, message: "Please wait.", response: response, underlying: cause)
            }
        ]
        let request = load(proxy)
        #expect(await screen.ending() == .failure(.server))
        #expect(request.error?.message == "Please wait.")
        #expect(account.expiries == 0)
    }

    @Test(arguments: [(TransportError.Kind.noNetwork, APIErrorType.noNetwork), (.security, .security)])
    func `A login server that cannot be reached never ends the session, however often it is asked`(
        _ kind: TransportError.Kind,
        _ type: APIErrorType
    ) async {
        let returns = Counter()
        let proxy = proxy {
            guard returns.count > 0 else { throw TransportError(kind, "no route") }
            return .status(401)
        }
        let request = load(proxy)
        #expect(await screen.ending() == .failure(type))
        for _ in 1..<8 {
            request.loadData()
            #expect(await screen.ending() == .failure(type))
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

    @Test func `During a relogin, what was loaded before a sign-in is loaded again`() async {
        let transport = ScriptedTransport { request in
            let isValid = request.headers["X-Token"] != "old" || request.url.path.hasSuffix("login")
            return isValid ? .json(goodsJSON([])) : .status(401)
        }
        let proxy = proxy(transport)
        let request = load(proxy)
        #expect(await screen.endings(of: [request]) == [.success])
        account.gate = Latch()
        account.setToken("old")
        let refused = load(proxy)
        await suspend(while: proxy.defaultService?.login.waiterCount != 1)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.endings(of: [request]) == [.success], "the session is still the same one")
        #expect(transport.requests.count == 2)
        let signIn = GoodsRequest(proxy: proxy)
        (signIn.path, signIn.customLogin) = ("/login", true)
        _ = try? await signIn.value()
        request.loadIfNeeded(maxAge: .seconds(60))
        account.gate?.open()
        #expect(await screen.endings(of: [refused, request]) == [.success, .success])
        #expect(transport.requests.count == 5)
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
        // In any order: they are independent of each other.
        let endings = await screen.endings(2)
        #expect(endings.contains(.failure(.loginExpired)) && endings.contains(.success))
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
            proxy.defaultService?.login.beginSession()
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

@MainActor @Suite("A session that has ended does not affect the next", .hangLimit, .timeLimit(.minutes(10)))
struct SessionEndTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    /// The points at which a load of the old account may be when the account changes.
    enum Whereabouts: CaseIterable, Sendable {
        case queued, underWay, inBackOff, waitingForRelogin, waitingToStart
    }

    /// Stops loads of the old account at `place`, and responses those of the new one.
    private func transport(_ place: Whereabouts, until gate: Latch) -> ScriptedTransport {
        ScriptedTransport { request in
            guard request.headers["X-Token"] != "new" else { return .json(goodsJSON([])) }
            switch place {
            case .queued, .underWay: await gate.waitIgnoringCancellation()
            case .inBackOff: return .status(503)
            case .waitingForRelogin, .waitingToStart: return .status(401)
            }
            return HTTPResponse(status: 200, headers: ["Set-Cookie": "late=1; Path=/"])
        }
    }

    /// Begins a load and runs it to its point, after another load where the point is a queue.
    private func loads(
        at place: Whereabouts,
        _ proxy: APIProxy,
        _ transport: ScriptedTransport
    ) async -> [GoodsRequest] {
        var requests = [load(proxy)]
        await transport.waitForRequests(1)
        switch place {
        case .queued:
            requests.append(load(proxy))
            await suspend(while: proxy.queuedCount == 0)
        case .underWay: break
        case .inBackOff: await clock.waitForSleepers()
        case .waitingForRelogin, .waitingToStart:
            await suspend(while: account.logins == 0)
            if place == .waitingToStart { requests.append(load(proxy)) }
        }
        return requests
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
        let transport = transport(place, until: gate)
        account.login = { await login.waitIgnoringCancellation() }
        let proxy = proxy(transport, limits: QueueLimits(perHost: 1), cookies: old)
        var requests = await loads(at: place, proxy, transport)
        if switches { proxy.switchAccount(to: new) } else { proxy.logout() }
        account.setToken("new")
        #expect(await screen.endings(of: requests) == Array(repeating: .cancelled, count: requests.count))
        requests.append(load(proxy))
        gate.open()
        clock.advance(by: .seconds(100))
        #expect(await screen.ending() == .success)
        // Not earlier, because this late handler replaces the new token.
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
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(transport.requests.isEmpty)
    }

    @Test(.fault(42)) func `A load whose account changes while its headers are read is not sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport)
        proxy.defaultService?.commonHeaders = { [weak proxy] in
            proxy?.switchAccount(to: CookieJar())
            return ["X-Token": "new"]
        }
        let request = load(proxy)
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(transport.requests.isEmpty)
        #expect(!request.isLoading)
    }

    @Test(.fault(42), arguments: [false, true], [false, true])
    func `After a logout, another proxy of the service sends nothing of the old account`(
        _ shares: Bool,
        _ hasHandler: Bool
    ) async {
        let gate = Latch()
        let transport = ScriptedTransport { request in
            await gate.waitIgnoringCancellation()
            return request.headers["X-Token"] == "t0" ? .status(401) : .json(goodsJSON([]))
        }
        let main = proxy(ScriptedTransport())
        if !hasHandler { main.defaultService?.reloginHandler = nil }
        let limits = QueueLimits(perHost: 1)
        let other = APIProxy(service: main.defaultService, transport: transport, queueLimits: limits, clock: clock)
        var requests: [GoodsRequest] = []
        for path in ["/running", "/queued"] {
            let request = GoodsRequest(delegate: screen, proxy: other)
            (request.path, request.method, request.ownOptions.coalescesIdentical) = (path, .get, shares)
            request.loadData()
            requests.append(request)
            if path == "/running" { await transport.waitForRequests() }
        }
        await suspend(while: other.queuedCount < 1)
        main.logout()
        account.setToken("new")
        gate.open()
        #expect(await screen.endings(of: requests) == [.cancelled, .cancelled])
        #expect(transport.requests.map(\.url.lastPathComponent) == ["running"] && account.logins == 0)
        requests.append(load(other))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.last?.headers["X-Token"] == "new")
    }

    @Test func `A load of another proxy whose hook ends the session is not sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let main = proxy(ScriptedTransport())
        let other = APIProxy(service: main.defaultService, transport: transport, clock: clock)
        let request = GoodsRequest(delegate: screen, proxy: other)
        request.reform = { params in
            main.logout()
            return params
        }
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        #expect(transport.requests.isEmpty)
    }

    @Test func `A logout inside the handler ends its waiters as cancelled`() async {
        let proxy = proxy(refusing())
        account.login = { [proxy] in proxy.logout() }
        let requests = (0..<3).map { _ in load(proxy) }
        #expect(await screen.endings(of: requests) == [.cancelled, .cancelled, .cancelled])
        #expect(requests.allSatisfy { !$0.isLoading })
        #expect(account.expiries == 0)
    }

    @Test(.fault(42), arguments: [false, true])
    func `A relogin that runs is cancelled with its session, inside of the call that ends it`(_ switches: Bool) async {
        let (began, cancelled) = (Latch(), Counter())
        account.login = {
            try await withTaskCancellationHandler {
                began.open()
                try await Latch().wait()
            } onCancel: {
                _ = cancelled.next()
            }
        }
        let proxy = proxy(refusing())
        let request = load(proxy)
        try? await began.wait()
        if switches { proxy.switchAccount(to: CookieJar()) } else { proxy.logout() }
        #expect(cancelled.count == 1)
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(account.expiries == 0 && !request.isLoading)
    }

    @Test(.fault(42), arguments: [false, true])
    func `A load that begins between the change of the cookies and the end of the session ends with it`(
        _ switches: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        // A jar whose file is damaged reports that when a proxy receives it; one whose folder is a file, when it is saved.
        try Data("no cookies".utf8).write(to: folder.file)
        let damaged = CookieJar(file: folder.file)
        let plainFile = folder.url.appending(path: "plain")
        try Data().write(to: plainFile)
        let unsaved = CookieJar(file: plainFile.appending(path: "cookies.txt"))
        let gate = Latch()
        let transport = ScriptedTransport { _ in
            await gate.waitIgnoringCancellation()
            return HTTPResponse(status: 200, headers: ["Set-Cookie": "late=1; Path=/"])
        }
        let proxy = proxy(transport, cookies: switches ? CookieJar() : unsaved)
        let (request, ends, begun) = (GoodsRequest(delegate: screen, proxy: proxy), Counter(), Counter())
        proxy.onError = { _ in
            // A jar may have reported before, and reports each kind of problem.
            guard ends.count == 1, begun.next() == 1 else { return }
            MainActor.assumeIsolated { _ = request.loadData() }
        }
        if !switches { unsaved.store(setCookie: "sid=old; Path=/", from: URL("http://shop.test/")) }
        _ = ends.next()
        if switches { proxy.switchAccount(to: damaged) } else { proxy.logout() }
        #expect(begun.count >= 1, "the hook was called in between")
        #expect(proxy.activeRequests.isEmpty)
        gate.open()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
        #expect(switches || proxy.cookies.cookies.isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test func `Another service's loads and plain calls continue`() async throws {
        let gate = Latch()
        let proxy = proxy(
            ScriptedTransport { _ in
                try await gate.wait()
                return .json(goodsJSON([]))
            }
        )
        let other = GoodsRequest(delegate: screen, proxy: proxy)
        other.customService = .sample()
        other.loadData()
        let call = Task { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain"))) }
        await suspend(while: proxy.activeRequests.count < 2)
        proxy.logout()
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(try await call.value.status == 200)
    }
}
