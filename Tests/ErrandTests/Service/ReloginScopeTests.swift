import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A load that begins inside relogin() is part of it", .hangLimit, .timeLimit(.minutes(10)))
struct ReloginScopeTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    /// Every way in which a handler can begin a load and wait for it.
    enum Way: CaseIterable, Sendable {
        case value, delegate, callback, childTask, taskGroup, task, batch, chain
        case ignoringNew, joining, plainCall, cancelledFirst
    }

    /// Refuses all tokens but "t1", except at `/inner`; `/slow` waits.
    private func transport(_ gate: Latch = Latch()) -> ScriptedTransport {
        ScriptedTransport { request in
            if request.url.path.hasSuffix("slow") { try await gate.wait() }
            let isAccepted = request.headers["X-Token"] == "t1" || !request.url.path.hasSuffix("goods")
            return isAccepted ? .json(goodsJSON([])) : .status(401)
        }
    }

    private func inner(_ proxy: APIProxy, _ path: String = "/inner") -> GoodsRequest {
        let request = GoodsRequest(proxy: proxy)
        (request.path, request.method) = (path, .get)
        return request
    }

    /// A load that occupies the only place at the transport and needs no relogin.
    private func fillQueue(of proxy: APIProxy, _ transport: ScriptedTransport) async -> GoodsRequest {
        let blocker = inner(proxy, "/slow")
        blocker.customService = .sample()
        blocker.loadData()
        await suspend(while: !transport.requests.contains(where: { $0.url.path.hasSuffix("slow") }))
        return blocker
    }

    @Test(.fault(41), arguments: Way.allCases)
    func `It is sent at once, in whatever way it begins`(_ way: Way) async throws {
        let transport = transport()
        let proxy = proxy(transport, limits: QueueLimits(perHost: 1))
        let waiting = inner(proxy)
        waiting.customRestartPolicy = .ignoreNew
        account.login = { [self] in
            // The load began before, in another task, and waits for this relogin.
            if way == .ignoringNew {
                await Task.detached { @MainActor in _ = waiting.loadData() }.value
                await suspend(while: proxy.defaultService?.login.waiterCount != 2)
            }
            let blocker = await fillQueue(of: proxy, transport)
            try await load(way, waiting, proxy)
            blocker.cancelAllRequests()
        }
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1)
        #expect(request.error == nil)
        let inner = transport.requests.first { $0.url.path.hasSuffix("inner") }
        #expect(inner?.headers["X-Token"] == "t0", "it was sent before the relogin ended")
        // The later load of `ignoringNew` is delivered as well.
        await suspend(while: waiting.isLoading)
    }

    @Test func `A plain call to a URL has the cookies of the service that is signed in again`() async {
        let transport = transport()
        let (proxy, jar) = (APIProxy(service: .sample(), transport: transport, clock: clock), CookieJar())
        proxy.cookies.store(setCookie: "sid=default; Path=/", from: URL("http://shop.test"))
        jar.store(setCookie: "sid=own; Path=/", from: URL("http://shop.test"))
        account.login = { [proxy] in
            _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/api/inner")))
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customService = .sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.cookies = jar
        }
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=own", "sid=own", "sid=own"])
    }

    private func load(_ way: Way, _ waiting: GoodsRequest, _ proxy: APIProxy) async throws {
        let request = inner(proxy)
        switch way {
        case .value: _ = try await request.value()
        case .delegate: await ending(of: request)
        case .callback: await endingOfSecond(after: request, inner(proxy, "/second"))
        case .childTask:
            async let response = request.value()
            _ = try await response
        case .taskGroup:
            try await withThrowingTaskGroup { group in
                group.addTask { _ = try await request.value() }
                try await group.waitForAll()
            }
        case .task: _ = try await Task { try await request.value() }.value
        case .batch: _ = try await APIBatch.values(of: request, inner(proxy, "/second"))
        case .chain:
            let chain = APIChain()
            chain.add(request)
            chain.add { self.inner(proxy, "/second") }
            try await chain.run()
        case .ignoringNew: _ = try await waiting.value()
        case .joining: try await join(request, proxy)
        case .plainCall:
            _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/api/inner"), headers: ["X-Token": "t0"]))
        case .cancelledFirst:
            request.loadData()
            request.cancelAllRequests()
            _ = try await request.value()
        }
    }

    private func ending(of request: GoodsRequest) async {
        let own = Screen()
        request.delegate = own
        request.loadData()
        #expect(await own.ending() == .success)
    }

    private func endingOfSecond(after request: GoodsRequest, _ second: GoodsRequest) async {
        let own = Screen()
        (request.delegate, second.delegate) = (own, own)
        own.onEvent = { request, _ in if request !== second { second.loadData() } }
        request.loadData()
        #expect(await own.endings(2) == [.success, .success])
    }

    /// Joins a queued load that is not part of the relogin.
    private func join(_ request: GoodsRequest, _ proxy: APIProxy) async throws {
        let queued = inner(proxy)
        (queued.customService, queued.ownOptions.coalescesIdentical, request.ownOptions.coalescesIdentical) = (
            proxy.defaultService, true, true
        )
        queued.customService?.reloginHandler = nil
        await Task.detached { @MainActor in _ = queued.loadData() }.value
        await suspend(while: proxy.sharedLoadCount < 1)
        _ = try await request.value()
        queued.cancelAllRequests()
    }

    @Test(.fault(41)) func `The error of one in a detached task names the cause, and the handler continues`() async {
        let transport = transport()
        let proxy = proxy(transport)
        let request = inner(proxy)
        let inner = Lock<APIErrorType?>(nil)
        account.login = {
            let outcome = await Task.detached { await request.outcome() }.value
            inner.withLock { $0 = outcome }
        }
        let outer = load(proxy)
        await suspend(while: proxy.defaultService?.login.waiterCount != 2)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(await screen.ending() == .failure(.timeout))
        #expect(outer.error?.reason?.contains("isLoginRequest") == true)
        await suspend(while: inner.withLock({ $0 }) != .timeout)
        #expect(transport.requests.count == 1)
    }

    @Test func `One that begins in a task that outlives the relogin is like any other`() async {
        let transport = ScriptedTransport { request in
            let number = request.url.path.hasSuffix("late") ? "t2" : "t1"
            return request.headers["X-Token"] == number ? .json(goodsJSON([])) : .status(401)
        }
        let proxy = proxy(transport)
        let gate = Latch()
        let late = inner(proxy, "/late")
        var leftBehind: Task<APIErrorType?, Never>?
        account.login = { [account] in
            guard account.logins == 1 else { return }
            leftBehind = Task {
                try? await gate.wait()
                return await late.outcome()
            }
        }
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        gate.open()
        #expect(await leftBehind?.value == nil)
        #expect(late.response != nil)
        #expect(account.logins == 2, "it was refused, and has renewed the login")
        #expect(!request.isLoading)
    }

    @Test(.blocksThread) func `A callback delivered together with one of a relogin begins loads like any other`()
        async throws
    {
        let gate = Latch()
        let transport = transport(gate)
        let proxy = proxy(transport)
        let other = Screen()
        let third = GoodsRequest(delegate: screen, proxy: proxy)
        third.path = "/third"
        let bystander = inner(proxy, "/slow")
        (bystander.customService, bystander.delegate) = (.sample(), other)
        other.onEvent = { _, _ in third.loadData() }
        bystander.loadData()
        account.login = { [self] in
            let request = inner(proxy)
            request.loadData()
            // Without a yield, because both deliveries wait for the main actor.
            spin(while: proxy.delivery.count < 1)
            gate.open()
            spin(while: proxy.delivery.count < 2)
            await suspend(while: third.isLoading == false)
        }
        let request = load(proxy)
        #expect(await screen.endings(2) == [.success, .success])
        let sent = transport.requests.filter { $0.url.path.hasSuffix("third") }
        #expect(sent.map { $0.headers["X-Token"] } == ["t1"])
        #expect(!request.isLoading)
        withExtendedLifetime(bystander) {}
    }

    @Test func `The closure of a screen that has joined one begins loads like any other`() async {
        let (slow, gate) = (Latch(), Latch())
        let proxy = proxy(transport(slow))
        let (joined, followUp) = (inner(proxy, "/slow"), GoodsRequest(delegate: screen, proxy: proxy))
        joined.customRestartPolicy = .ignoreNew
        (followUp.path, followUp.method) = ("/goods", .get)
        account.login = {
            _ = try await joined.value()
            try await gate.wait()
        }
        let request = load(proxy)
        await suspend(while: !joined.isLoading)
        joined.loadData { _ in followUp.loadData() }
        slow.open()
        await suspend(while: proxy.defaultService?.login.waiterCount != 2)
        gate.open()
        #expect(await screen.endings(of: [request, followUp]) == [.success, .success])
        #expect(account.logins == 1)
    }

    @Test func `Two relogins that need each other do not wait for each other`() async {
        let second = Account()
        second.setToken("none")
        let transport = ScriptedTransport { request in
            let isFirst = request.url.path.hasSuffix("goods") || request.url.path.hasSuffix("inner")
            let isAccepted = isFirst ? request.url.path.hasSuffix("inner") : request.headers["X-Other"] == "t1"
            return isAccepted || request.headers["X-Token"] == "t1" ? .json(goodsJSON([])) : .status(401)
        }
        let proxy = proxy(transport)
        let otherService = APIService.sample {
            $0.reloginHandler = second
            $0.commonHeaders = { ["X-Other": second.token] }
        }
        second.login = { [self] in _ = try await inner(proxy).value() }
        account.login = { [self] in
            let request = inner(proxy, "/other")
            request.customService = otherService
            _ = try await request.value()
        }
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1 && second.logins == 1)
        #expect(!request.isLoading)
    }

    @Test(.fault(38)) func `Its success begins no new session, whose expiry would be reported again`() async {
        let proxy = proxy(transport())
        account.login = { [self] in _ = try await inner(proxy).value() }
        account.fails = true
        for _ in 0..<3 {
            let request = load(proxy)
            #expect(await screen.ending() == .failure(.loginExpired))
            #expect(!request.isLoading)
        }
        #expect(account.logins == 3)
        #expect(account.expiries == 1)
    }

    @Test func `One that is refused fails, and starts no further relogin`() async {
        let proxy = proxy(transport())
        let types = Lock<[APIErrorType?]>([])
        account.login = { [self] in
            let outcome = await inner(proxy, "/goods").outcome()
            types.withLock { $0.append(outcome) }
        }
        let request = load(proxy)
        #expect(await screen.ending() == .success)
        #expect(types.withLock { $0 } == [.http])
        #expect(account.logins == 1)
        #expect(!request.isLoading)
    }
}

@MainActor @Suite("Requests of relogin() have the service and the proxy whose login it is", .timeLimit(.minutes(10)))
struct ReloginProxyTests {
    private let account = Account()

    /// What sends the loads that need the login.
    enum Sender: CaseIterable, Sendable {
        /// The shared proxy; the requests name the service.
        case sharedProxy
        /// A proxy whose default service it is.
        case ownProxy
        /// A proxy with another default service; the requests name the service.
        case proxyOfOther
        /// A proxy without a service; a plain call names it.
        case plainCall
    }

    /// How the handler's request is made.
    enum Way: CaseIterable, Sendable {
        case local, stored, delegate, childTask
    }

    /// Accepts the token "t1", and every login.
    private func transport() -> ScriptedTransport {
        ScriptedTransport { request in
            let isAccepted = request.headers["X-B"] == "t1" || request.url.path.hasSuffix("login")
            return isAccepted ? .json(goodsJSON([])) : .status(401)
        }
    }

    private func service(_ host: String, header: String) -> APIService {
        var service = APIService(baseURL: URL("http://\(host).test/api"))
        service.commonHeaders = { [account] in [header: account.token] }
        return service
    }

    /// The service of the login, whose environment adds a second to the timeout each time that it changes the service.
    private var secured: APIService {
        var service = service("b", header: "X-B")
        service.reloginHandler = account
        service.environment.changes = { service in
            service.timeout += .seconds(1)
        }
        return service
    }

    private func signIn(_ way: Way, _ stored: APIRequest<[Goods]>) async throws {
        switch way {
        case .local: _ = try await APIRequest<[Goods]>("/login").value()
        case .stored: _ = try await stored.value()
        case .delegate:
            let request = APIRequest<[Goods]>("/login")
            request.loadData()
            await suspend(while: request.isLoading)
        case .childTask:
            async let login: Void = { @MainActor in _ = try await APIRequest<[Goods]>("/login").value() }()
            try await login
        }
    }

    @Test(arguments: Sender.allCases, Way.allCases)
    func `A request that names neither is sent to that service by that proxy`(
        _ sender: Sender,
        _ way: Way
    ) async throws {
        let (shared, own) = (transport(), transport())
        let other = service("a", header: "X-A")
        let service = secured
        let sharedProxy = APIProxy(fake: shared, service: other)
        try await withSharedProxy(sharedProxy) {
            let stored = APIRequest<[Goods]>("/login")
            account.login = { try await signIn(way, stored) }
            let proxy =
                switch sender {
                case .sharedProxy: APIProxy.shared
                case .ownProxy: APIProxy(fake: own, service: service)
                case .proxyOfOther, .plainCall: APIProxy(fake: own, service: other)
                }
            if sender == .plainCall {
                let response = try await proxy.send(HTTPRequest(.get, URL("/goods")), to: service)
                #expect(response.status == 200)
            } else {
                let named = sender == .ownProxy ? nil : service
                _ = try await APIRequest<[Goods]>("/goods", service: named, proxy: proxy).value()
            }
            // One that was made before has a proxy, but no service.
            let transport = sender == .sharedProxy || way == .stored ? shared : own
            let login = try #require(transport.requests.first { $0.url.path.hasSuffix("login") })
            #expect(login.url.absoluteString == "http://b.test/api/login")
            #expect(login.headers["X-B"] == "t0" && login.headers["X-A"] == nil)
            #expect(login.timeout == .seconds(61), "the changes of the environment apply once")
            #expect((shared.requests + own.requests).allSatisfy { $0.url.host() == "b.test" })
            // Afterwards as before.
            _ = try await APIRequest<[Goods]>("/login").value()
            #expect(shared.requests.last?.url.host() == "a.test")
        }
        #expect(account.logins == 1)
    }

    @Test func `A request that is given another proxy or a service is sent by that and to that`() async throws {
        let (shared, own) = (transport(), transport())
        let other = service("a", header: "X-A")
        try await withSharedProxy(APIProxy(fake: shared, service: other)) {
            account.login = {
                _ = try await APIRequest<[Goods]>("/login", proxy: .shared).value()
                _ = try await APIRequest<[Goods]>("/login", service: other).value()
            }
            _ = try await APIRequest<[Goods]>("/goods", proxy: APIProxy(fake: own, service: secured)).value()
        }
        #expect(shared.requests.map(\.url.absoluteString) == ["http://a.test/api/login"])
        #expect(own.requests.map(\.url.host) == ["b.test", "a.test", "b.test"])
    }

    @Test func `What a request of the login changes for itself is not inherited`() async throws {
        let transport = transport()
        account.login = { _ = try await APIRequest<[Goods]>("/login").value() }
        let request = GoodsRequest(proxy: APIProxy(fake: transport, service: secured))
        request.ownOptions.envelope = .wholeBody
        request.reform = { _ in ["x": 1] }
        await #expect { try await request.value() } throws: { ($0 as? APIError)?.type == .decoding }
        #expect(account.logins == 1, "the login was read in the envelope of the service")
        #expect(transport.requests.count == 3)
    }
}
