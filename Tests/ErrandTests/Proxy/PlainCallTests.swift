import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Plain calls", .hangLimit, .timeLimit(.minutes(10)))
struct PlainCallTests {
    /// A transport that exposes its progress handler and waits until it is released, cancelled or not.
    private final class ProgressingTransport: HTTPTransport {
        let latch = Latch()
        let handler = Lock<TransferProgress.Handler?>(nil)

        func send(
            _ request: HTTPRequest,
            progress: TransferProgress.Handler?
        ) async throws(TransportError) -> HTTPResponse {
            handler.withLock { $0 = progress }
            await latch.waitIgnoringCancellation()
            return .status(200)
        }

        func report() {
            handler.withLock { $0 }?(TransferProgress(.upload, completedBytes: 1, totalBytes: nil))
        }
    }

    @Test func `No progress of a cancelled call is reported`() async {
        let transport = ProgressingTransport()
        let proxy = APIProxy(transport: transport)
        let reports = Lock(0)
        let call = Task {
            try await proxy.send(HTTPRequest(.get, URL("http://shop.test/"))) { _ in reports.withLock { $0 += 1 } }
        }
        await suspend(while: transport.handler.withLock({ $0 == nil }))
        transport.report()
        proxy.cancelAllRequests()
        await #expect(throws: APIError.self) { try await call.value }
        transport.report()
        #expect(reports.withLock { $0 } == 1)
        transport.latch.open()
    }
}

@MainActor @Suite("A plain call that names a service", .hangLimit, .timeLimit(.minutes(10)))
struct ServiceCallTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    private let echoing = ScriptedTransport { _ in .status(200) }

    private func send(
        _ url: String,
        _ method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        by proxy: APIProxy,
        to service: APIService? = nil
    ) async throws(APIError) -> APIResponse {
        var named = APIService.sample()
        if let service = service ?? proxy.defaultService { named = service }
        return try await proxy.send(HTTPRequest(method, URL(url), headers: headers), to: named)
    }

    // MARK: The request

    @Test(arguments: [
        ("/orders/7", "http://shop.test/api/orders/7"), ("orders?a=1#top", "http://shop.test/api/orders?a=1"),
        ("http://shop.test/other?x=%20", "http://shop.test/other?x=%20"),
        ("HTTP://SHOP.TEST:80/", "HTTP://SHOP.TEST:80/"),
    ])
    func `A path is below the base URL, and a URL of the service's origin is unchanged`(
        _ url: String,
        _ expected: String
    ) async throws {
        _ = try await send(url, by: proxy(echoing))
        #expect(echoing.requests.map(\.url.absoluteString) == [expected])
    }

    @Test(arguments: ["http://evil.test/", "https://shop.test/", "http://shop.test:8080/", "//evil.test/a"])
    func `A URL of another origin is refused before anything is sent`(_ url: String) async {
        let proxy = proxy(echoing)
        let error = await #expect(throws: APIError.self) { try await send(url + "?key=s3cret", by: proxy) }
        #expect(error?.type == .security)
        #expect(error?.description.contains("s3cret") == false)
        #expect(echoing.requests.isEmpty && proxy.activeRequests.isEmpty)
    }

    @Test func `It has the service's headers, replaced by its own, and is adapted last of all`() async throws {
        var service = APIService.sample()
        service.commonHeaders = { ["X-Client": "ios", "Accept": "*/*"] }
        service.commonParams = { throw APIError(.security, reason: "parameters do not apply") }
        service.adapters.request = [
            Adapter { request, _ in
                request.headers["X-Signature"] = "\(request.method) \(request.headers["Accept"] ?? "")"
            }
        ]
        let response = try await send("/a", .put, headers: ["Accept": "text/css"], by: proxy(echoing), to: service)
        #expect(response.status == 200)
        let sent = try #require(echoing.requests.first)
        #expect(sent.headers["X-Client"] == "ios" && sent.headers.values("Accept") == ["text/css"])
        #expect(sent.headers["X-Signature"] == "PUT text/css")
        #expect(sent.url.query == nil && sent.body.isEmpty)
    }

    @Test func `It has the service's cookies, which are stored too`() async throws {
        let transport = ScriptedTransport { _ in .status(200, headers: ["Set-Cookie": "a=1"]) }
        let (proxy, jar) = (proxy(transport), CookieJar())
        var service = APIService.sample()
        service.cookies = jar
        for _ in 0..<2 { _ = try await send("/a", by: proxy, to: service) }
        #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "a=1"])
        #expect(proxy.cookies.cookies.isEmpty && jar.cookies.count == 1)
    }

    // MARK: The response

    @Test(arguments: [200, 302, 400, 404, 500]) func `Any status is a response`(_ status: Int) async throws {
        let transport = ScriptedTransport { _ in .json(#"{"errcode":5,"msg":"no"}"#, status: status) }
        let response = try await send("/a", .post, by: proxy(transport))
        #expect(response.status == status && response.text.contains("errcode"))
        #expect(transport.requests.count == 1)
    }

    @Test func `It is retried by the service's policy, and the last response returned`() async throws {
        let transport = ScriptedTransport { _ in .status(503) }
        var service = APIService.sample()
        service.retryPolicy = RetryPolicy()
        service.retryPolicy.baseDelay = .zero
        #expect(try await send("/a", by: proxy(transport), to: service).status == 503)
        #expect(transport.requests.count == 3)
        #expect(try await send("/a", .post, by: proxy(transport), to: service).status == 503)
        #expect(transport.requests.count == 4)
        let keyed = try await send("/a", .post, headers: ["Idempotency-Key": "k"], by: proxy(transport), to: service)
        #expect(keyed.status == 503 && transport.requests.count == 7)
    }

    @Test(arguments: [true, false])
    func `The refusal of another request, thrown by a closure of the service, is an error`(
        _ adapts: Bool
    ) async throws {
        let transport = ScriptedTransport { _ in .status(404) }
        let proxy = proxy(transport)
        let other = try await send("/other", by: proxy)
        var service = APIService.sample()
        service.adapters.request = [Adapter { request, _ in request.headers["X-Signature"] = "1" }]
        service.commonHeaders = { ["X-Client": "ios"] }
        #expect(try await send("/a", by: proxy, to: service).status == 404)
        if adapts {
            service.adapters.request = [Adapter { _, _ in throw APIError(.http, response: other) }]
        } else {
            service.commonHeaders = { throw APIError(.http, response: other) }
        }
        let error = await #expect(throws: APIError.self) { try await send("/a", by: proxy, to: service) }
        #expect(error?.type == .http && error?.status == 404)
        #expect(transport.requests.count == 2)
    }

    @Test func `A lost connection is an error`() async {
        let transport = ScriptedTransport { _ in throw TransportError(.timeout, "too slow") }
        let error = await #expect(throws: APIError.self) { try await send("/a?key=s3cret", by: proxy(transport)) }
        #expect(error?.type == .timeout && error?.path == "/a")
    }

    // MARK: The login

    @Test func `An expired login is renewed, and the request sent once more with the new headers`() async throws {
        let transport = refusing(but: "t1")
        let proxy = proxy(transport)
        let request = load(proxy)
        #expect(try await send("/a", by: proxy).status == 200)
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(account.logins == 1)
        #expect(transport.requests.filter { $0.url.path.hasSuffix("/a") }.last?.headers["X-Token"] == "t1")
    }

    @Test func `A login that cannot be renewed is an error with the response`() async {
        let transport = refusing()
        let proxy = proxy(transport)
        let useless = await #expect(throws: APIError.self) { try await send("/a", by: proxy) }
        #expect(useless?.type == .loginExpired && useless?.status == 401)
        #expect(transport.requests.count == 2 && account.logins == 1)
        account.fails = true
        let failed = await #expect(throws: APIError.self) { try await send("/a", by: proxy) }
        #expect(failed?.type == .loginExpired && failed?.underlying is Account.WrongPassword)
        #expect(account.expiries == 1)
        let service = APIService.sample { $0.commonHeaders = { ["X-Token": "t0"] } }
        let none = await #expect(throws: APIError.self) { try await send("/a", by: proxy, to: service) }
        #expect(none?.type == .loginExpired)
    }

    @Test func `It is renewed before the renewal date`() async throws {
        let proxy = proxy(echoing)
        account.loginRenewalDate = clock.date
        _ = try await send("/a", by: proxy)
        #expect(account.logins == 1 && echoing.requests.map { $0.headers["X-Token"] } == ["t1"])
    }

    @Test func `Inside the relogin it waits for none, and returns the refusal`() async throws {
        let proxy = proxy(refusing(but: "t1"))
        account.login = { [proxy] in
            let service = try #require(proxy.defaultService)
            let response = try await proxy.send(HTTPRequest(.post, URL("/login")), to: service)
            #expect(response.status == 401)
        }
        #expect(try await send("/a", by: proxy).status == 200)
        #expect(account.logins == 1)
    }

    /// Signs out when its renewal date is read.
    @MainActor private final class LeavingAccount: ReloginHandler {
        var leave: (() -> Void)?

        var loginRenewalDate: Date? {
            exchange(&leave, with: nil)?()
            return nil
        }

        func relogin() async throws {}
    }

    @Test func `A logout while its renewal date is read ends it before it is sent with the next token`() async {
        let leaving = LeavingAccount()
        let proxy = proxy(echoing)
        proxy.defaultService?.reloginHandler = leaving
        leaving.leave = { [proxy, account] in
            proxy.logout()
            account.setToken("next")
        }
        let error = await #expect(throws: APIError.self) { try await send("/a", by: proxy) }
        #expect(error?.type == .cancelled)
        #expect(echoing.requests.isEmpty && proxy.activeRequests.isEmpty)
    }

    @Test func `A call has begun when its caller is suspended, and so ends with the account that it was made for`()
        async
    {
        let transport = ScriptedTransport { _ in
            try await Latch().wait()
            return .status(200)
        }
        let proxy = proxy(transport)
        var isMade = false
        let call = Task {
            isMade = true
            return try await send("/order", by: proxy)
        }
        while !isMade { await Task.yield() }
        #expect(proxy.activeRequests.map(\.path) == ["/order"])
        proxy.switchAccount(to: CookieJar())
        let error = await #expect(throws: APIError.self) { try await call.value }
        #expect(error?.type == .cancelled)
    }

    // MARK: The ending

    @Test func `A logout, a cancel by ID and a cancel of the task end it`() async throws {
        let transport = ScriptedTransport { _ in
            try await Latch().wait()
            return .status(200)
        }
        let proxy = proxy(transport)
        for end in 0..<3 {
            let call = Task { try await send("/a", by: proxy) }
            await transport.waitForRequests(end + 1)
            let active = try #require(proxy.activeRequests.first)
            #expect(active.path == "/a")
            switch end {
            case 0: proxy.logout()
            case 1: proxy.cancelRequest(active.id)
            default: call.cancel()
            }
            #expect(await #expect(throws: APIError.self) { try await call.value }?.type == .cancelled)
            #expect(proxy.activeRequests.isEmpty)
        }
    }

    @Test func `Its deadline covers its retries, and the service's is the default`() async {
        let (never, requests) = (Latch(), Counter())
        let transport = ScriptedTransport { _ in
            guard requests.next().isMultiple(of: 2) else { return .status(503, headers: ["Retry-After": "9"]) }
            try await never.wait()
            return .status(200)
        }
        let proxy = proxy(transport)
        for (isOwn, count) in [(true, 2), (false, 4)] {
            var service = APIService.sample { $0.retryPolicy = RetryPolicy() }
            var request = HTTPRequest(.get, URL("/a"))
            if isOwn { request.deadline = .seconds(10) } else { service.deadline = .seconds(10) }
            let call = Task { [request, service] in try await proxy.send(request, to: service) }
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(9))
            await transport.waitForRequests(count)
            clock.advance(by: .seconds(1))
            #expect(await #expect(throws: APIError.self) { try await call.value }?.type == .timeout)
            await suspend(while: clock.sleepers > 0)
        }
    }

    @Test func `A body of a 2xx response is in the file, which any other leaves unchanged`() async throws {
        let folder = try TemporaryFolder()
        let responses = Responses([.status(200), .json("no", status: 404)])
        let transport = ScriptedTransport { _ in
            var response = responses.next()
            if response.status == 200 { response = HTTPResponse(status: 200, body: Data("yes".utf8)) }
            return response
        }
        let proxy = proxy(transport)
        var request = HTTPRequest(.get, URL("/a"))
        request.destination = .file(folder.file)
        let service = try #require(proxy.defaultService)
        #expect(try await proxy.send(request, to: service).file == folder.file)
        #expect(try await proxy.send(request, to: service).text == "no")
        #expect(try Data(contentsOf: folder.file) == Data("yes".utf8))
        #expect(try folder.names.count == 1)
    }
}

@MainActor
@Suite("A plain call without a service has the cookies of the default one", .hangLimit, .timeLimit(.minutes(10)))
struct PlainCallCookieTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()
    private let production = APIEnvironment("production", baseURL: URL("http://api.shop.test/v1"))
    private let staging = APIEnvironment("staging", baseURL: URL("http://staging.shop.test/v2"))
    private let url = URL("http://api.shop.test/v1/plain")

    /// A jar that has, for each environment, a cookie with its name.
    private func jar() -> CookieJar {
        let jar = CookieJar()
        for name in ["production", "staging"] {
            jar.jar(of: name).store(setCookie: "of=\(name); Path=/", from: url, at: clock.date)
        }
        return jar
    }

    @Test func `The changes of its environment apply`() async throws {
        let own = jar()
        var environment = production
        environment.changes = { $0.cookies = own }
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = APIProxy(service: APIService(environment: environment), transport: transport, clock: clock)
        _ = try await proxy.send(HTTPRequest(.get, url))
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["of=production"])
    }

    @Test func `Inside a relogin it has the environment of that, also after a change`() async {
        let (gate, transport) = (Latch(), refusing(but: "t1"))
        var service = APIService(environment: production)
        service.reloginHandler = account
        service.commonHeaders = { [account] in ["X-Token": account.token] }
        let proxy = APIProxy(service: service, transport: transport, cookies: jar(), clock: clock)
        account.gate = gate
        account.login = { [proxy, url] in _ = try await proxy.send(HTTPRequest(.post, url)) }
        let request = load(proxy)
        await suspend(while: account.logins == 0)
        proxy.defaultService?.environment = staging
        gate.open()
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(transport.requests.map { $0.url.lastPathComponent } == ["goods", "plain", "goods"])
        #expect(transport.requests.map { $0.headers["Cookie"] } == Array(repeating: "of=production", count: 3))
    }
}
