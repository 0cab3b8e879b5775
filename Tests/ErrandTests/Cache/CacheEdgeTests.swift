import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A cache at its edges", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheEdgeTests {
    private typealias Scene = CacheRuleScene

    @Test func `A revalidation whose deadline passes ends once`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let scene = try Scene { _, number in
            let response = Scene.version(number, "max-age=1, stale-while-revalidate=600")
            return number == 1 ? response : response.behind(gate)
        }
        scene.service.deadline = .seconds(5)
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(2))
        let endings = scene.proxy.endings
        let reader = Task {
            var ended: [String] = []
            for await load in endings {
                ended.append("\(load.path) \("\(load.ending)".prefix(7))")
                if load.path == "/last" { break }
            }
            return ended
        }
        await Task.yield()
        #expect(await scene.load() == "v1 cache")
        #expect(await scene.server.waitForTotalRequests(2))
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(5))
        await scene.settle()
        gate.open()
        _ = await scene.load(.bypass, "/last")
        #expect(await reader.value.map { $0.split(separator: " ")[0] } == ["/goods", "/goods", "/last"])
        #expect(scene.violations == [])
    }

    @Test func `A fallback whose headers never come ends with the deadline`() async throws {
        let scene = try Scene()
        #expect(await scene.load(.fallback) == "v1 network")
        let (never, latch) = (Latch(), Latch())
        defer { never.open() }
        scene.service.commonHeaders = {
            latch.open()
            try await never.wait()
            return [:]
        }
        let load = Task { await scene.load(.fallback) { $0.deadline = .seconds(5) } }
        try await latch.wait()
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(5))
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(1))
        #expect(await load.value == "timeout")
    }

    @Test func `A deadline includes the headers that are made for a lookup`() async throws {
        let scene = try Scene()
        let never = Latch()
        defer { never.open() }
        scene.service.commonHeaders = {
            try await never.wait()
            return [:]
        }
        let load = Task { await scene.load { $0.deadline = .seconds(5) } }
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(5))
        #expect(await load.value == "timeout")
        #expect(scene.sent == 0)
    }

    @Test func `A deadline goes on while a retry queues`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let scene = try Scene(limits: QueueLimits(perHost: 1, total: 1)) { request, number in
            request.path == "/other" ? Scene.version(number).behind(gate) : .status(503)
        }
        scene.service.retryPolicy = RetryPolicy()
        for sharing in [true, false] {
            let first = scene.sent
            let load = Task {
                await scene.load {
                    $0.deadline = .seconds(60)
                    $0.coalescesIdentical = sharing
                }
            }
            #expect(await scene.server.waitForTotalRequests(first + 1))
            // The deadline, and the delay of the retry.
            await suspend(while: scene.clock.sleepers < 2)
            let other = scene.request(.http, "/other")
            other.loadData()
            #expect(await scene.server.waitForTotalRequests(first + 2))
            scene.clock.advance(by: .seconds(20))
            await suspend(while: scene.proxy.queuedCount == 0)
            scene.clock.advance(by: .seconds(40))
            #expect(await load.value == "timeout")
            other.cancelAllRequests()
            await scene.settle()
        }
    }

    @Test func `The deadline of a load that has looked for a stored response excludes the queue`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let scene = try Scene(limits: QueueLimits(perHost: 1, total: 1)) { request, _ in
            request.path == "/first" ? Response.text("first").behind(gate) : .text("second")
        }
        let first = Task { await scene.load(.http, "/first") }
        #expect(await scene.server.waitForTotalRequests(1))
        let second = Task { await scene.load(.http, "/second") { $0.deadline = .seconds(5) } }
        await suspend(while: scene.proxy.queuedCount == 0)
        scene.clock.advance(by: .seconds(100))
        gate.open()
        #expect(await first.value == "first network")
        #expect(await second.value == "second network")
    }

    @Test(arguments: [304, 200])
    func `A response to an older request neither replaces nor removes what was stored meanwhile`(_ status: Int)
        async throws
    {
        let gate = Gate()
        defer { gate.open() }
        let scene = try Scene { _, number in
            switch number {
            case 1: Scene.version(1, "max-age=1", ["ETag": "\"1\""])
            case 2: (status == 304 ? Response.status(304) : Scene.version(2, "no-store")).behind(gate)
            default: Scene.version(number)
            }
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(2))
        let older = Task { await scene.load() }
        #expect(await scene.server.waitForTotalRequests(2))
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.load() == "v3 network")
        gate.open()
        #expect(await older.value == (status == 304 ? "v1 validated" : "v2 network"))
        await scene.settle()
        #expect(await scene.load() == "v3 cache")
        #expect(scene.violations == [])
    }

    @Test(
        arguments: [["Cache-Control": "no-store"], ["Cache-Control": "max-age=60", "Vary": "X-Color"]] as [HeaderLines],
        [10, 70_000]
    )
    func `What a 304 forbids to store, or varies by other lines, is removed`(_ lines: HeaderLines, _ count: Int)
        async throws
    {
        let body = String(repeating: "a", count: count)
        let scene = try Scene { request, number in
            guard request.header("If-None-Match") != nil else {
                return .text(
                    number == 1 ? body : "v\(number)",
                    headers: ["ETag": "\"a\"", "Cache-Control": "max-age=1"]
                )
            }
            return .status(304, headers: lines)
        }
        #expect(await scene.load() == "\(body) network")
        scene.clock.advance(by: .seconds(2))
        #expect(await scene.load() == "\(body) validated")
        #expect(await scene.load() == "v3 network")
        #expect(scene.violations == [])
    }

    @Test(arguments: ["ACCEPT-encoding, origin", "origin"])
    func `A 304 that varies by no other line confirms what is stored`(_ vary: String) async throws {
        let scene = try Scene { request, number in
            let lines: HeaderLines = ["ETag": "\"a\"", "Cache-Control": "max-age=1"]
            return request.header("If-None-Match") == nil
                ? .text("v\(number)", headers: lines + ["Vary": "Origin, Accept-Encoding"])
                : .status(304, headers: lines + ["Vary": vary])
        }
        #expect(await scene.load() == "v1 network")
        for _ in 0..<3 {
            scene.clock.advance(by: .seconds(2))
            #expect(await scene.load() == "v1 validated")
        }
        #expect(scene.violations == [])
    }

    @Test func `A retry is not answered by the failure before it`() async throws {
        let scene = try Scene { _, number in
            number == 1 ? .text("busy", status: 503, headers: ["Cache-Control": "max-age=10"]) : Scene.version(number)
        }
        scene.service.retryPolicy = RetryPolicy()
        let load = Task { await scene.load() }
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(60))
        #expect(await load.value == "v2 network")
    }

    @Test func `What is needed is of the same path, the same cookies and the same login`() async throws {
        final class Detail: BaseAPIRequest, APIManager {
            typealias Response = String
            var number = 1
            var reads = 0
            var path: String {
                reads += 1
                return "/goods/\(number)"
            }
            let method = HTTPMethod.get
        }
        let (scene, screen) = (try Scene { request, _ in .text(request.path) }, CacheScreen())
        scene.proxy.defaultService = scene.service
        let request = Detail(delegate: screen, proxy: scene.proxy)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 1)
        request.number = 2
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(request.response == "/goods/2")
        request.reads = 0
        request.loadData()
        #expect(request.reads == 1)
        #expect(await screen.ending() == .success)
        scene.proxy.defaultService?.cookies = CookieJar()
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 4)
        scene.proxy.logout()
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 5)
    }

    @Test func `A monitor that signs out when a load has ended leaves nothing for the next user`() async throws {
        final class Monitor: APIMonitor {
            let signOut = Lock<(@Sendable () -> Void)?>(nil)
            func observe(_ event: APIEvent) {
                guard case .ended = event.kind else { return }
                signOut.withLock { exchange(&$0, with: nil) }?()
            }
        }
        let (scene, screen, monitor) = (try Scene { request, _ in .text(request.path) }, CacheScreen(), Monitor())
        scene.proxy.defaultService = scene.service
        scene.proxy.monitors = [monitor]
        let request = APIRequest<String>("/goods", delegate: screen, proxy: scene.proxy)
        monitor.signOut.withLock { $0 = { [proxy = scene.proxy] in proxy.logout() } }
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 2)
    }

    @Test func `A response from before a sign-in is not that of the user who has signed in`() async throws {
        let (scene, screen) = (try Scene { request, _ in .text(request.path) }, CacheScreen())
        scene.proxy.defaultService = scene.service
        let request = APIRequest<String>("/goods", delegate: screen, proxy: scene.proxy)
        request.loadData()
        #expect(await screen.ending() == .success)
        let signIn = APIRequest<String>("/login", method: .post, isLoginRequest: true, proxy: scene.proxy)
        _ = try await signIn.value()
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 3)
    }

    @Test(arguments: [200, 302]) func `What is stored is not found after a sign-in without a logout`(_ status: Int)
        async throws
    {
        let scene = try Scene { request, number in
            request.path == "/login" ? .status(status, headers: ["Location": "/home"]) : Scene.version(number)
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load() == "v1 cache")
        let options = APIRequestOptions(acceptedStatuses: [302], redirectPolicy: .refuse)
        try await APIRequest<Void>(
            "/login",
            method: .get,
            service: scene.service,
            isLoginRequest: true,
            options: options,
            proxy: scene.proxy
        ).value()
        #expect(await scene.load() == "v3 network")
    }

    @Test func `A sign-in ends the sessions of its own cookies, although the proxy has others by then`()
        async throws
    {
        let gate = Gate()
        let scene = try Scene { request, number in
            request.path == "/login" ? .status(200).behind(gate) : Scene.version(number)
        }
        let other = APIService(baseURL: scene.server.baseURL)
        #expect(await scene.load() == "v1 network")
        let signIn = APIRequest<Void>("/login", service: scene.service, isLoginRequest: true, proxy: scene.proxy)
        let signedIn = Task { await signIn.outcome() }
        #expect(await scene.server.waitForTotalRequests(2))
        let jar = scene.proxy.switchAccount(of: other, to: CookieJar())
        gate.open()
        #expect(await signedIn.value == nil)
        scene.proxy.switchAccount(of: other, to: jar)
        #expect(await scene.load() == "v3 network")
    }

    @Test func `A load after a sign-in at another service with the same cookies shares no exchange of before`()
        async throws
    {
        let gate = Gate()
        let scene = try Scene { request, number in
            request.path == "/login" ? .status(200) : Scene.version(number, "no-store").behind(gate)
        }
        var other = APIService(baseURL: scene.server.baseURL)
        (other.envelope, other.failureReader) = (nil, nil)
        func load() -> Task<String, Never> { Task { await scene.load { $0.coalescesIdentical = true } } }
        let loads = [load(), load()]
        #expect(await scene.server.waitForTotalRequests(1))
        await suspend(while: scene.proxy.activeRequests.count < 2)
        try await APIRequest<Void>("/login", method: .get, service: other, isLoginRequest: true, proxy: scene.proxy)
            .value()
        let late = load()
        #expect(await scene.server.waitForTotalRequests(3))
        gate.open()
        for load in loads { #expect(await load.value == "v1 network") }
        #expect(await late.value == "v3 network")
    }

    @Test func `After a switch of the account, nothing is found that a jar of another environment has stored`()
        async throws
    {
        let scene = try Scene()
        scene.service.cookies = CookieJar()
        scene.proxy.defaultService = scene.service
        let base = scene.service.baseURL
        scene.service.environment = APIEnvironment("staging", baseURL: base)
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load() == "v1 cache")
        scene.service.environment = APIEnvironment("production", baseURL: base)
        #expect(await scene.load() == "v2 network")
        scene.proxy.switchAccount(of: scene.service, to: CookieJar())
        scene.service.environment = APIEnvironment("staging", baseURL: base)
        #expect(await scene.load() == "v3 network")
    }

    @Test func `An adapter that fails for a while removes nothing that is stored`() async throws {
        let scene = try Scene()
        let isBroken = Lock(false)
        scene.service.adapters.response = [
            Adapter { _, _ in if isBroken.withLock(\.self) { throw URLError(.notConnectedToInternet) } }
        ]
        #expect(await scene.load() == "v1 network")
        isBroken.withLock { $0 = true }
        #expect(await scene.load(.onlyIfCached) != "v1 cache")
        isBroken.withLock { $0 = false }
        #expect(await scene.load(.onlyIfCached) == "v1 cache")
    }

    @Test func `What an adapter refuses for another load is requested again, also if a 304 has confirmed it`()
        async throws
    {
        let scene = try Scene { request, number in
            let lines: HeaderLines = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
            guard request.header("If-None-Match") == nil else { return .status(304, headers: lines) }
            return Scene.version(number, nil, lines + ["X-For": request.header("X-Nonce") ?? ""])
        }
        let nonces = Counter()
        scene.service.adapters.request = [Adapter { request, _ in request.headers["X-Nonce"] = "\(nonces.next())" }]
        scene.service.adapters.response = [
            Adapter { response, context in
                let isOfLoad = response.headers["X-For"] == context.request?.headers["X-Nonce"]
                guard isOfLoad else { throw APIError(.security, reason: "it is sealed for another load") }
            }
        ]
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load() == "v3 network")
        #expect(await scene.load() == "v5 network")
    }

    @Test(arguments: [false, true])
    func `A load without cookies has responses of its own`(_ isFirst: Bool) async throws {
        let scene = try Scene { request, number in Scene.version(number) }
        scene.proxy.cookies.store(setCookie: "sid=1", from: scene.service.baseURL)
        for _ in 0..<2 {
            let first = await scene.load { $0.sendsCookies = isFirst }
            let second = await scene.load { $0.sendsCookies = !isFirst }
            #expect([first.prefix(2), second.prefix(2)] == ["v1", "v2"])
        }
        #expect(scene.server.requests.map { $0.header("Cookie") } == (isFirst ? ["sid=1", nil] : [nil, "sid=1"]))
    }

    @Test func `A stored response is not found by a cookie that has expired`() async throws {
        let scene = try Scene { request, number in
            let cookie: HeaderLines = number == 1 ? ["Set-Cookie": "session=abc; Max-Age=60"] : [:]
            let headers: HeaderLines = ["Vary": "Cookie", "Cache-Control": "max-age=3600"]
            return .text(request.header("Cookie") ?? "none", headers: headers + cookie)
        }
        #expect(await scene.load() == "none network")
        #expect(await scene.load() == "session=abc network")
        #expect(await scene.load() == "session=abc cache")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load().hasPrefix("none"))
    }

    @Test func `The priority of a load that has looked for a stored response can change while it queues`() async throws
    {
        let gate = Gate()
        let scene = try Scene(limits: QueueLimits(perHost: 1, total: 1)) { request, _ in
            request.path == "/first" ? Response.text("first").behind(gate) : .text(request.path)
        }
        let first = Task { await scene.load(.http, "/first") }
        #expect(await scene.server.waitForTotalRequests(1))
        let requests = ["/second", "/third"].map { scene.request(.http, $0) }
        let ids = requests.map { $0.loadData() }
        await suspend(while: scene.proxy.queuedCount < 2)
        #expect(scene.proxy.setPriority(.userInitiated, of: ids[1]))
        gate.open()
        #expect(await first.value == "first network")
        await suspend(while: requests.contains { $0.isLoading })
        #expect(scene.server.requests.map(\.path) == ["/first", "/third", "/second"])
    }

    @Test func `The priority of a load can change before it looks for a stored response`() async throws {
        let (gate, headers) = (Gate(), Latch())
        let scene = try Scene(limits: QueueLimits(perHost: 1, total: 1)) { request, _ in
            request.path == "/first" ? Response.text("first").behind(gate) : .text(request.path)
        }
        let first = Task { await scene.load(.http, "/first") }
        #expect(await scene.server.waitForTotalRequests(1))
        let second = scene.request(.http, "/second")
        second.loadData()
        await suspend(while: scene.proxy.queuedCount < 1)
        scene.service.commonHeaders = {
            try await headers.wait()
            return [:]
        }
        let third = scene.request(.http, "/third")
        #expect(scene.proxy.setPriority(.userInitiated, of: third.loadData()))
        #expect(scene.proxy.activeRequests.last?.priority == .userInitiated)
        headers.open()
        await suspend(while: scene.proxy.queuedCount < 2)
        gate.open()
        #expect(await first.value == "first network")
        await suspend(while: second.isLoading || third.isLoading)
        #expect(scene.server.requests.map(\.path) == ["/first", "/third", "/second"])
    }

    @Test func `A load that was moved in the queue keeps its priority for its next try`() async throws {
        let (gate, retry) = (Gate(), Gate())
        let scene = try Scene(limits: QueueLimits(perHost: 1, total: 1)) { request, _ in
            switch (request.path, request.header("X-Try")) {
            case ("/first", _): Response.text("first").behind(gate)
            case ("/moved", nil): Response.status(401).behind(retry)
            default: .text(request.path)
            }
        }
        let account = Account()
        let isRenewed = Latch()
        account.gate = isRenewed
        scene.service.reloginHandler = account
        scene.service.commonHeaders = { account.token == "t0" ? [:] : ["X-Try": "2"] }
        let first = Task { await scene.load(.http, "/first") }
        #expect(await scene.server.waitForTotalRequests(1))
        let requests = ["/older", "/moved"].map { scene.request(.http, $0) }
        let ids = requests.map { $0.loadData() }
        await suspend(while: scene.proxy.queuedCount < 2)
        #expect(scene.proxy.setPriority(.userInitiated, of: ids[1]))
        gate.open()
        _ = await first.value
        retry.open()
        await suspend(while: account.logins == 0)
        isRenewed.open()
        await suspend(while: requests.contains { $0.isLoading })
        #expect(scene.server.requests.map(\.path) == ["/first", "/moved", "/moved", "/older"])
    }

    @Test func `A stored response that a 304 does not confirm is requested with headers of the time`() async throws {
        let scene = try Scene { request, number in
            guard request.header("If-None-Match") != nil else {
                return Scene.version(number, "max-age=1", ["ETag": "\"a\""])
            }
            return .status(304, headers: ["ETag": "\"b\""])
        }
        let signed = Counter()
        scene.service.adapters.request = [
            Adapter { request, context in
                request.headers["X-Nonce"] = "\(signed.next())"
                request.headers["X-Attempt"] = "\(context.attempt)"
            }
        ]
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(2))
        #expect(await scene.load() == "v3 network")
        let requests = scene.server.requests
        #expect(Set(requests.compactMap { $0.header("X-Nonce") }).count == requests.count, "none is sent twice")
        #expect(requests.suffix(2).map { $0.header("X-Attempt") } == ["1", "2"])
        #expect(scene.violations == [])
    }

    @Test func `Headers that are read for the key of a rule do not delay a refused login`() async throws {
        let scene = try Scene { request, number in
            request.header("X-Token") == "t0" ? .status(401) : Scene.version(number)
        }
        let (account, login) = (Account(), scene.service.login)
        scene.service.reloginHandler = account
        let reads = Counter()
        scene.service.commonHeaders = {
            let token = account.token
            // After the headers of the request, while those of the key are read, another load has the login renewed.
            if reads.next() == 3 {
                await account.setToken("t1")
                login.beginSession()
                login.didSignIn()
            }
            return ["X-Token": token]
        }
        scene.service.adapters.request = [Adapter { request, _ in request.headers["X-Adapted"] = "1" }]
        #expect(await scene.load(.elseLoad).hasSuffix("network"))
        #expect(scene.server.requests.map { $0.header("X-Token") } == ["t1"])
        #expect(account.logins == 0)
    }
}
