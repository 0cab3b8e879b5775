import Dispatch
import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

extension APIEnvironment {
    fileprivate static let production = APIEnvironment("production", baseURL: URL("http://api.shop.test/v1"))
    fileprivate static let staging = APIEnvironment(
        "staging",
        baseURL: URL("http://staging.shop.test/v2"),
        headers: ["X-Stage": "1"]
    )
}

@MainActor @Suite("The environment of a service can be changed while loads run", .hangLimit, .timeLimit(.minutes(10)))
struct EnvironmentTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    private let echoing = ScriptedTransport { _ in .json(goodsJSON([])) }

    /// A proxy whose service is in production.
    private func inProduction(
        _ transport: ScriptedTransport,
        cookies: CookieJar = CookieJar(),
        _ change: (inout APIService) -> Void = { _ in }
    ) -> APIProxy {
        var service = APIService(environment: .production)
        service.reloginHandler = account
        service.commonHeaders = { [account] in ["X-Token": account.token] }
        change(&service)
        return APIProxy(service: service, transport: transport, cookies: cookies, clock: clock)
    }

    @Test func `No environment is current in the callback of another load that shares the hop to the main actor`() async
    {
        let arrived = Latch()
        let transport = ScriptedTransport { _ async throws(TransportError) in
            arrived.open()
            try await Latch().wait()
            return .status(200)
        }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let current = Lock<[String?]>([])
        let id = APIRequest<JSONValue>("/goods", proxy: proxy).loadData { _ in
            current.withLock { $0.append(APIEnvironment.current?.name) }
        }
        await arrived.waitIgnoringCancellation()
        var staging = APIService(environment: .staging)
        staging.commonHeaders = {
            proxy.cancelRequest(id)
            throw APIError(.invalidRequest)
        }
        await #expect(throws: APIError.self) {
            try await APIRequest<JSONValue>("/x", service: staging, proxy: proxy).value()
        }
        await suspend(while: current.withLock(\.isEmpty))
        #expect(current.withLock(\.self) == [nil])
    }

    private func hosts(_ transport: ScriptedTransport) -> [String?] { transport.requests.map(\.url.host) }

    // MARK: What is sent

    @Test func `A load has the base URL and the headers of the environment in which it begins`() async throws {
        let proxy = inProduction(echoing) { $0.commonHeaders = { ["X-Stage": "0", "X-Client": "ios"] } }
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        proxy.defaultService?.environment = .staging
        #expect(proxy.defaultService?.environment == .staging)
        #expect(proxy.defaultService?.baseURL == APIEnvironment.staging.baseURL)
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        _ = try await proxy.send(HTTPRequest(.get, URL("/plain")), to: #require(proxy.defaultService))
        proxy.defaultService?.environment = .production
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(
            echoing.requests.map(\.url.absoluteString) == [
                "http://api.shop.test/v1/goods", "http://staging.shop.test/v2/goods",
                "http://staging.shop.test/v2/plain",
                "http://api.shop.test/v1/goods",
            ]
        )
        #expect(echoing.requests.map { $0.headers["X-Stage"] } == ["0", "1", "1", "0"])
        #expect(echoing.requests.allSatisfy { $0.headers["X-Client"] == "ios" })
    }

    @Test func `Its changes apply to its loads, and end with it`() async throws {
        let other = Account()
        other.setToken("other")
        let sandbox = APIEnvironment("sandbox", baseURL: URL("http://sandbox.test")) {
            $0.commonHeaders = { ["X-Token": other.token] }
            $0.reloginHandler = other
            $0.envelope = nil
            $0.environment = .production
        }
        let transport = ScriptedTransport { request in
            guard request.url.host == "sandbox.test" else { return .json(goodsJSON([])) }
            return request.headers["X-Token"] == "t1" ? .json("[]") : .status(401)
        }
        let proxy = inProduction(transport)
        proxy.defaultService?.environment = sandbox
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(other.logins == 1 && account.logins == 0)
        #expect(proxy.defaultService?.envelope != nil)
        proxy.defaultService?.environment = .production
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(transport.requests.map { $0.headers["X-Token"] } == ["other", "t1", "t0"])
        #expect(hosts(transport) == ["sandbox.test", "sandbox.test", "api.shop.test"])
    }

    // MARK: Loads that have begun

    @Test func `A load that is queued or retried keeps its environment`() async {
        let responses = Responses([.status(503, headers: ["Retry-After": "5"]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = APIProxy(
            service: APIService(environment: .production),
            transport: transport,
            queueLimits: QueueLimits(perHost: 1, total: 1),
            clock: clock
        )
        var requests = [load(proxy)]
        await clock.waitForSleepers()
        proxy.defaultService?.environment = .staging
        requests.append(load(proxy))
        #expect(await screen.ending() == .success)
        clock.advance(by: .seconds(5))
        #expect(await screen.ending() == .success)
        #expect(hosts(transport) == ["api.shop.test", "staging.shop.test", "api.shop.test"])
        withExtendedLifetime(requests) {}
    }

    @Test func `A relogin and its login requests have the environment of the loads that need it`() async {
        let gate = Latch()
        let transport = ScriptedTransport { request in
            let mustLogIn = request.headers["X-Token"] == "t0" && request.url.host == "api.shop.test"
            return mustLogIn && !request.url.path.hasSuffix("login") ? .status(401) : .json(goodsJSON([]))
        }
        let proxy = inProduction(transport)
        account.gate = gate
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            login.path = "/login"
            _ = try await login.value()
            var service = try #require(proxy.defaultService)
            service.environment = try #require(APIEnvironment.current)
            _ = try await proxy.send(HTTPRequest(.post, URL("/plain-login")), to: service)
        }
        let first = load(proxy)
        await suspend(while: account.logins == 0)
        proxy.defaultService?.environment = .staging
        #expect(await screen.endings(of: [load(proxy)]) == [.success], "it does not wait for the other login")
        gate.open()
        #expect(await screen.endings(of: [first]) == [.success])
        #expect(hosts(transport).filter { $0 == "staging.shop.test" }.count == 1)
        #expect(transport.requests.map(\.url.path).contains("/v1/login"))
        #expect(transport.requests.map(\.url.path).contains("/v1/plain-login"))
        #expect(transport.requests.last?.headers["X-Token"] == "t1")
    }

    @Test func `Inside a relogin a service that is named keeps its own environment`() async throws {
        let transport = refusing(but: "t1")
        let proxy = inProduction(transport)
        var other = try #require(proxy.defaultService)
        other.environment = .staging
        other.commonHeaders = { ["X-Token": "t1"] }
        account.login = { [proxy, other] in
            let request = GoodsRequest(proxy: proxy)
            (request.path, request.customService) = ("/named", other)
            _ = try await request.value()
            _ = try await proxy.send(HTTPRequest(.get, URL("/plain")), to: other)
        }
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(hosts(transport) == ["api.shop.test", "staging.shop.test", "staging.shop.test", "api.shop.test"])
    }

    // MARK: The current environment

    @Test func `The closures of a service get the environment of the load, also for a retry after a change`() async {
        let again = HTTPResponse.status(503, headers: ["Retry-After": "5"])
        let responses = Responses([again, .json(goodsJSON([])), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = inProduction(transport) {
            $0.commonHeaders = { ["X-Token": APIEnvironment.current?.name] }
            $0.commonParams = { ["of": APIEnvironment.current?.name] }
            $0.adapters.request = [
                Adapter { request, _ in request.headers["X-Adapted"] = APIEnvironment.current?.name }
            ]
        }
        let first = load(proxy)
        await clock.waitForSleepers()
        proxy.defaultService?.environment = .staging
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        clock.advance(by: .seconds(5))
        #expect(await screen.endings(of: [first]) == [.success])
        let expected = ["production", "staging", "production"]
        #expect(transport.requests.map { $0.headers["X-Token"] } == expected)
        #expect(transport.requests.map { $0.headers["X-Adapted"] } == expected)
        #expect(transport.requests.map { $0.url.query } == expected.map { "of=\($0)" })
        #expect(APIEnvironment.current == nil)
    }

    /// Records the environment in which each of its members is called; its relogin fails when its gate opens.
    @MainActor private final class Recorder: ReloginHandler {
        let gate = Latch()
        private(set) var dates: [String?] = []
        private(set) var logins: [String?] = []
        private(set) var expiries: [String?] = []

        var loginRenewalDate: Date? {
            dates.append(APIEnvironment.current?.name)
            return nil
        }

        func relogin() async throws {
            try await gate.wait()
            logins.append(APIEnvironment.current?.name)
            throw Account.WrongPassword()
        }

        func sessionDidExpire(_ error: APIError) { expiries.append(APIEnvironment.current?.name) }
    }

    @Test func `A handler gets the environment that needs the login, also after a change`() async {
        let handler = Recorder()
        let proxy = inProduction(ScriptedTransport { _ in .status(401) }) { $0.reloginHandler = handler }
        let first = load(proxy)
        await suspend(while: proxy.defaultService?.login.waiterCount != 1)
        proxy.defaultService?.environment = .staging
        handler.gate.open()
        #expect(await screen.endings(of: [first]) == [.failure(.loginExpired)])
        #expect(handler.logins == ["production"] && handler.expiries == ["production"])
        #expect(!handler.dates.isEmpty && handler.dates.allSatisfy { $0 == "production" })
    }

    // MARK: Logins and cookies

    @Test func `Each environment has one login, and so has each origin`() throws {
        var service = APIService(environment: .production)
        let copy = service
        let production = service.login
        service.environment = .staging
        #expect(service.login !== production && copy.login === production)
        service.environment = .production
        #expect(service.login === production)
        service.baseURL = URL("http://api.shop.test/v9")
        #expect(service.login === production, "another path of the same origin")
        service.baseURL = URL("https://api.shop.test/v1")
        #expect(service.login !== production)
        let named = APIEnvironment("beta", baseURL: APIEnvironment.production.baseURL)
        service.environment = named
        #expect(service.login !== production, "another account on the same origin")
    }

    @Test func `A logout ends the loads of the current environment alone`() async {
        let gate = Latch()
        let transport = ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = inProduction(transport)
        let first = load(proxy)
        proxy.defaultService?.environment = .staging
        let second = load(proxy)
        await transport.waitForRequests(2)
        proxy.logout()
        #expect(await screen.ending() == .cancelled)
        #expect(!second.isLoading && first.isLoading)
        gate.open()
        #expect(await screen.endings(of: [first]) == [.success])
    }

    @Test func `A cookie of the whole domain is not sent to another environment`() async {
        let transport = ScriptedTransport { request in
            .json(goodsJSON([]), headers: ["Set-Cookie": "at=\(request.url.host ?? ""); Domain=shop.test"])
        }
        let proxy = inProduction(transport)
        for environment in [APIEnvironment.production, .staging, .production, .staging] {
            proxy.defaultService?.environment = environment
            #expect(await screen.endings(of: [load(proxy)]) == [.success])
        }
        #expect(
            transport.requests.map { $0.headers["Cookie"] } == [nil, nil, "at=api.shop.test", "at=staging.shop.test"]
        )
        #expect(proxy.cookies.cookies.isEmpty)
        proxy.logout()
        proxy.switchAccount(to: CookieJar())
        proxy.defaultService?.environment = .production
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(transport.requests.last?.headers["Cookie"] == nil)
    }

    @Test func `The jar of an environment has a file beside that of the proxy's`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "cookies.txt")
        let transport = ScriptedTransport { _ in .json(goodsJSON([]), headers: ["Set-Cookie": "a=1"]) }
        for start in 0..<2 {
            let proxy = inProduction(transport, cookies: CookieJar(file: file))
            proxy.defaultService?.environment = .staging
            #expect(await screen.endings(of: [load(proxy)]) == [.success])
            #expect(transport.requests.last?.headers["Cookie"] == (start == 0 ? nil : "a=1"))
            proxy.switchAccount(to: CookieJar())
        }
        #expect(try folder.names.contains("cookies-staging.txt"))
        #expect(URL("file:///a/jar").beside("x/y%").path == "/a/jar-x%2Fy%25")
    }

    @Test(.fault(59)) func `A switch of the account ends the loads of all environments`() async {
        let transport = ScriptedTransport { _ async throws(TransportError) in
            try await Latch().wait()
            return .status(200)
        }
        let proxy = inProduction(transport)
        let first = load(proxy)
        proxy.defaultService?.environment = .staging
        let second = load(proxy)
        await transport.waitForRequests(2)
        proxy.switchAccount(to: CookieJar())
        #expect(await screen.endings(of: [first, second]) == [.cancelled, .cancelled])
    }

    // MARK: Races

    @Test func `Loads that begin while other threads switch have one environment each`() async {
        let proxy = inProduction(echoing)
        let switching = Task.detached {
            for number in 0..<2_000 {
                proxy.defaultService?.environment = number.isMultiple(of: 2) ? .staging : .production
            }
        }
        var requests: [GoodsRequest] = []
        for _ in 0..<200 {
            requests.append(load(proxy))
            await Task.yield()
        }
        await switching.value
        #expect(await screen.endings(of: requests).count == 200)
        for request in echoing.requests {
            #expect((request.url.host == "staging.shop.test") == (request.headers["X-Stage"] == "1"))
            #expect((request.url.host == "staging.shop.test") == request.url.path.hasPrefix("/v2"))
        }
    }
}
