import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Monitors observe the events of each load in order", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct MonitorTests {
    let recorder = EventRecorder()
    let screen = Screen()
    let clock = ManualClock()
    let account = Account()
    let kept = Kept()

    /// A proxy with the recorder, over a script that is called with the number of the request, from 1 on.
    func proxy(
        limits: QueueLimits = QueueLimits(),
        reachability: Reachability = Reachability(status: .reachable(.wired)),
        _ change: (inout APIService) -> Void = { _ in },
        script: @escaping @Sendable (Int, HTTPRequest) async throws -> HTTPResponse
    ) -> (APIProxy, ScriptedTransport) {
        let count = Counter()
        let transport = ScriptedTransport { try await script(count.next(), $0) }
        let proxy = APIProxy(
            service: .sample(change),
            transport: transport,
            queueLimits: limits,
            reachability: reachability,
            clock: clock,
            monitors: [recorder]
        )
        return (proxy, transport)
    }

    func request(_ proxy: APIProxy, _ change: (GoodsRequest) -> Void = { _ in }) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .get
        change(request)
        kept.requests.append(request)
        return request
    }

    /// Retains the requests of a test, which an optimized build may release after their last use.
    @MainActor final class Kept {
        var requests: [BaseAPIRequest] = []
    }

    /// Waits for the steps of a load, whose last ones another thread may still deliver, and compares them.
    func expect(
        _ steps: [String],
        of id: RequestID? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await suspend(while: recorder.steps(of: id).count < steps.count, sourceLocation: sourceLocation)
        #expect(recorder.steps(of: id) == steps, sourceLocation: sourceLocation)
        #expect(recorder.violations.isEmpty, sourceLocation: sourceLocation)
    }

    /// The steps of a load without the end of its exchange, which may be before the ending.
    func stepsOfCancelledLoad(_ id: RequestID? = nil) -> [String] {
        recorder.steps(of: id).filter { $0 != "failed cancelled" }
    }

    // MARK: Endings

    @Test func `A success is began, started, made, responded and ended`() async throws {
        let (proxy, _) = proxy { _, _ in .json(goodsJSON([])) }
        let goods = request(proxy) { $0.path = "/goods/{id}?token=s3cret" }
        let id = goods.loadData(params: ["id": 7])
        #expect(recorder.steps().first == "began")
        #expect(await screen.ending() == .success)
        await expect(["began", "started", "made", "responded 200", "success"])
        let events = recorder.events
        #expect(events.allSatisfy { $0.id == id && $0.method == .get && $0.path == "/goods/{id}" })
        #expect(events.map(\.attempt) == [0, 0, 1, 1, 1])
        #expect(events.map { $0.exchange == nil } == [true, true, false, false, true])
        guard case .requestMade(let made) = events[2].kind else { throw TransportError(.badResponse, "no request") }
        #expect(made.url.path == "/api/goods/7" && made.observer == nil)
    }

    @Test func `A failure of the server, of the transport and of the validator end with their error`() async {
        let (proxy, _) = proxy { number, _ in
            if number == 2 { throw TransportError(.connectionLost, "lost") }
            return number == 1 ? .json(#"{"errcode":7,"msg":"no"}"#) : .json(goodsJSON([]))
        }
        let goods = request(proxy)
        let ids = [goods.loadData()]
        #expect(await screen.ending() == .failure(.server))
        await expect(["began", "started", "made", "responded 200", "failure server"], of: ids[0])
        let second = goods.loadData()
        #expect(await screen.ending() == .failure(.transport))
        await expect(["began", "started", "made", "failed transport", "failure transport"], of: second)
        let strict = Strict()
        goods.validator = strict
        let third = goods.loadData()
        #expect(await screen.ending() == .failure(.invalidResponse))
        await expect(["began", "started", "made", "responded 200", "failure invalidResponse"], of: third)
    }

    private final class Strict: APIManagerValidator {
        func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool {
            false
        }
    }

    private final class Refusal: APIManagerInterceptor {
        func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool { false }
    }

    @Test func `A load that a monitor cancels before it is sent is not sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = APIProxy(fake: transport)
        let checkpoint = Checkpoint()
        let monitor = EventRecorder { [weak proxy] event in
            guard case .requestMade = event.kind else { return }
            checkpoint.pass()
            proxy?.cancelRequest(event.id)
        }
        proxy.monitors = [monitor]
        let request = request(proxy)
        request.loadData()
        let work = proxy.loads.tasks.first
        checkpoint.release()
        #expect(await screen.ending() == .cancelled)
        await work?.value
        #expect(work != nil && transport.requests.isEmpty && monitor.violations.isEmpty)
    }

    @Test func `A load that is never sent has its beginning and its ending`() async {
        let (proxy, transport) = proxy { _, _ in .json(goodsJSON([])) }
        let goods = request(proxy)
        let refusal = Refusal()
        goods.interceptor = refusal
        goods.loadData()
        #expect(await screen.ending() == .cancelled)
        await expect(["began", "cancelled"])
        goods.interceptor = nil
        proxy.defaultService = nil
        let third = goods.loadData()
        #expect(await screen.ending() == .failure(.invalidRequest))
        await expect(["began", "failure invalidRequest"], of: third)
        #expect(transport.requests.isEmpty)
    }

    // MARK: The queue and other waits

    @Test func `Only a load that waits is queued, and a cancel in the queue ends it`() async {
        let gate = Latch()
        let (proxy, _) = proxy(limits: QueueLimits(perHost: 1)) { _, _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let requests = (0..<3).map { _ in request(proxy) }
        let ids = requests.map { $0.loadData() }
        proxy.cancelRequest(ids[1])
        gate.open()
        #expect(await screen.endings(of: requests) == [.cancelled, .success, .success])
        await expect(["began", "started", "made", "responded 200", "success"], of: ids[0])
        await expect(["began", "queued", "cancelled"], of: ids[1])
        await expect(["began", "queued", "started", "made", "responded 200", "success"], of: ids[2])
        // Known from its turn on, to the recorder of archives as well.
        let queued = recorder.events(of: ids[2])
        let wait = queued[2].uptime - queued[1].uptime
        #expect(queued.map(\.queue) == [nil, nil, wait, wait, wait, wait] && wait > .zero)
        #expect(recorder.events(of: ids[0]).map(\.queue) == [nil, .zero, .zero, .zero, .zero])
    }

    @Test func `A retry waits, and each try has its number`() async {
        let (proxy, _) = proxy {
            $0.retryPolicy = RetryPolicy()
        } script: { number, _ in
            number < 3 ? .status(503) : .json(goodsJSON([]))
        }
        request(proxy).loadData()
        for _ in 0..<2 {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1_000))
        }
        #expect(await screen.ending() == .success)
        let retry = ["made", "responded 503", "waiting retry", "again"]
        await expect(["began", "started"] + retry + retry + ["made", "responded 200", "success"])
        #expect(recorder.events.map(\.attempt) == [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
        #expect(Set(recorder.events.compactMap(\.exchange)).count == 3)
    }

    @Test func `A relogin is a wait and a renewal, also for a load that begins meanwhile`() async {
        let gate = Latch()
        account.gate = gate
        let (proxy, _) = proxy { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        } script: { _, request in
            request.headers["X-Token"] == "t0" ? .status(401) : .json(goodsJSON([]))
        }
        let requests = [request(proxy), request(proxy)]
        let first = requests[0].loadData()
        await suspend(while: account.logins == 0)
        let second = requests[1].loadData()
        await suspend(while: proxy.defaultService?.login.waiterCount != 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
        let replay = ["waiting login", "renewed login", "again", "made", "responded 200", "success"]
        await expect(["began", "started", "made", "responded 401"] + replay, of: first)
        await expect(
            ["began", "started", "waiting login", "renewed login", "made", "responded 200", "success"],
            of: second
        )
    }

    @Test func `A failed relogin is a wait without a renewal`() async {
        account.fails = true
        let (proxy, _) = proxy { [account] in
            $0.reloginHandler = account
        } script: { _, _ in
            .status(401)
        }
        let goods = request(proxy)
        goods.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        await expect(["began", "started", "made", "responded 401", "waiting login", "failure loginExpired"])
    }

    /// The monitor keeps a load between its wait and the relogin until that has failed.
    @Test(.blocksThread) func `A load whose relogin fails while it begins to wait has no renewal either`() async {
        let (gate, ended) = (Latch(), DispatchSemaphore(value: 0))
        (account.fails, account.gate) = (true, gate)
        let slow = EventRecorder { event in
            switch event.kind {
            case .waiting where event.path == "/other":
                gate.open()
                _ = ended.wait(timeout: .now() + 60)
            case .ended where event.path == "/goods": ended.signal()
            default: break
            }
        }
        let (proxy, _) = proxy { [account] in
            ($0.reloginHandler, $0.monitors) = (account, [slow])
        } script: { _, _ in
            .status(401)
        }
        let requests = [request(proxy), request(proxy) { $0.path = "/other" }]
        requests[0].loadData()
        await suspend(while: account.logins == 0)
        let second = requests[1].loadData()
        #expect(await screen.endings(of: requests) == [.failure(.loginExpired), .failure(.loginExpired)])
        await expect(["began", "started", "waiting login", "failure loginExpired"], of: second)
    }

    @Test func `A load without a network waits for it`() async {
        let network = Reachability(status: .unreachable)
        let (proxy, _) = proxy(reachability: network) {
            $0.retryPolicy = RetryPolicy()
            $0.retryPolicy.waitsForConnectivity = true
        } script: { number, _ in
            if number == 1 { throw TransportError(.noNetwork, "no route") }
            return .json(goodsJSON([]))
        }
        let goods = request(proxy)
        goods.loadData()
        await suspend(while: network.observerCount == 0)
        network.report(.reachable(.wired))
        #expect(await screen.ending() == .success)
        let wait = ["made", "failed noNetwork", "waiting network", "again"]
        await expect(["began", "started"] + wait + ["made", "responded 200", "success"])
    }

    @Test func `An adapter that asks for another try makes the load wait`() async {
        let count = Counter()
        let (proxy, _) = proxy {
            $0.adapters.response = [
                Adapter { _, _ in if count.next() == 1 { throw AdapterRetry.again(after: .seconds(5)) } }
            ]
        } script: { _, _ in
            .json(goodsJSON([]))
        }
        let goods = request(proxy)
        goods.loadData()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await screen.ending() == .success)
        let wait = ["made", "responded 200", "waiting adapter", "again"]
        await expect(["began", "started"] + wait + ["made", "responded 200", "success"])
        #expect(recorder.events.contains { if case .waiting(_, limit: .seconds(5)) = $0.kind { true } else { false } })
    }

    // MARK: Exchanges

    @Test func `Each redirect that is followed has a number and a request`() async {
        let (proxy, _) = proxy { number, _ in
            number < 3 ? .status(302, headers: ["Location": "/moved\(number)"]) : .json(goodsJSON([]))
        }
        let goods = request(proxy)
        goods.loadData()
        #expect(await screen.ending() == .success)
        let hop = ["made", "redirected 302"]
        await expect(["began", "started"] + hop + hop + ["made", "responded 200", "success"])
        let numbers = recorder.events.compactMap(\.exchange)
        #expect(Set(numbers).count == 3 && numbers == numbers.sorted())
    }

    @Test func `A request has its cookies, and the observer of a plain call receives its events`() async throws {
        let seen = Counter()
        let (proxy, transport) = proxy { _, request in
            request.observer?(.sent)
            request.observer?(.sent)
            request.observer?(.head(status: 200, headers: ["A": "b"]))
            return .json("{}")
        }
        proxy.cookies.store(setCookie: "sid=1", from: URL("http://shop.test/"))
        var plain = HTTPRequest(.get, URL("http://shop.test/plain?token=s3cret"))
        plain.observer = { _ in _ = seen.next() }
        _ = try await proxy.send(plain)
        await expect(["began", "started", "made", "sent", "head", "responded 200", "success"])
        #expect(seen.count == 3 && transport.requests.count == 1)
        #expect(recorder.events.allSatisfy { $0.path == "http://shop.test/plain" })
        let made = recorder.events.compactMap { event -> HTTPRequest? in
            if case .requestMade(let request) = event.kind { request } else { nil }
        }
        #expect(try #require(made.first).headers["Cookie"] == "sid=1")
    }

    @Test func `Loads that share an exchange have its events, also when the first one is cancelled`() async {
        let gate = Latch()
        let (proxy, transport) = proxy { _, request in
            try await gate.wait()
            request.observer?(.sent)
            return .json(goodsJSON([]))
        }
        let requests = (0..<3).map { _ in request(proxy) { $0.ownOptions.coalescesIdentical = true } }
        let first = requests[0].loadData()
        await transport.waitForRequests()
        let others = requests.dropFirst().map { $0.loadData() }
        await suspend(while: proxy.sharedLoadCount < 3)
        proxy.cancelRequest(first)
        gate.open()
        #expect(await screen.endings(of: requests) == [.cancelled, .success, .success])
        await expect(["began", "started", "made", "cancelled"], of: first)
        for id in others { await expect(["began", "joined", "started", "sent", "responded 200", "success"], of: id) }
        #expect(Set(recorder.events.compactMap(\.exchange)).count == 1)
    }

    @Test func `Loads that join a queued exchange are queued, and receive its request`() async {
        let gate = Latch()
        let (proxy, _) = proxy(limits: QueueLimits(perHost: 1)) { _, _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let blocker = request(proxy) { $0.path = "/other" }
        blocker.loadData()
        let requests = (0..<2).map { _ in request(proxy) { $0.ownOptions.coalescesIdentical = true } }
        let first = requests[0].loadData()
        await suspend(while: proxy.queuedCount < 1)
        let second = requests[1].loadData()
        await suspend(while: !recorder.steps(of: second).contains("queued"))
        gate.open()
        #expect(await screen.endings(of: [blocker] + requests) == [.success, .success, .success])
        await expect(["began", "queued", "started", "made", "responded 200", "success"], of: first)
        await expect(["began", "joined", "queued", "started", "made", "responded 200", "success"], of: second)
    }
}

// Which loads have which monitors, and loads that are cancelled.
extension MonitorTests {
    @Test func `A service's monitors follow the proxy's, and a load keeps those that it began with`() async throws {
        let gate = Latch()
        let order = Lock<[String]>([])
        let late = EventRecorder()
        let ofService = EventRecorder { event in order.withLock { $0.append("service \(event.kind.step)") } }
        let ofProxy = EventRecorder { event in order.withLock { $0.append("proxy \(event.kind.step)") } }
        let (proxy, _) = proxy {
            $0.monitors = [ofService]
        } script: { _, _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        proxy.monitors.append(ofProxy)
        let goods = request(proxy)
        goods.loadData()
        proxy.monitors = [late]
        proxy.defaultService?.monitors = []
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(recorder.steps() == ofService.steps() && recorder.steps() == ofProxy.steps())
        #expect(
            order.withLock { $0.prefix(4) } == ["proxy began", "service began", "proxy started", "service started"]
        )
        #expect(late.count == 0)
        _ = try await proxy.send(HTTPRequest(.get, URL("/plain")), to: try #require(proxy.defaultService))
        #expect(late.steps() == ["began", "started", "made", "responded 200", "success"])
        #expect(ofProxy.ids.count == 1)
    }

    @Test func `A plain call of a service has the events of a load`() async throws {
        let (proxy, _) = proxy {
            $0.retryPolicy = RetryPolicy()
        } script: { number, _ in
            number == 1 ? .status(503) : .json("{}")
        }
        async let response = proxy.send(HTTPRequest(.get, URL("/plain")), to: try #require(proxy.defaultService))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1_000))
        #expect(try await response.status == 200)
        let retry = ["made", "responded 503", "waiting retry", "again"]
        await expect(["began", "started"] + retry + ["made", "responded 200", "success"])
    }

    @Test func `A request that is released while it loads is an event`() async throws {
        let (proxy, transport) = proxy { _, _ in
            try await Latch().wait()
            return .json(goodsJSON([]))
        }
        var goods: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        goods?.loadData()
        await transport.waitForRequests()
        goods = nil
        try await until { recorder.ended == 1 }
        #expect(stepsOfCancelledLoad() == ["began", "started", "made", "released", "cancelled"])
        var unobserved: GoodsRequest? = GoodsRequest(proxy: proxy)
        let id = unobserved?.loadData()
        unobserved = nil
        // A thread that delivers an event of the load delivers the next ones as well.
        try await until { recorder.ended == 2 }
        #expect(recorder.steps(of: id).last == "cancelled" && !recorder.steps(of: id).contains("released"))
    }

    @Test func `A logout ends the loads of its session, and every group member has an ending`() async throws {
        let gate = Latch()
        let (proxy, transport) = proxy { _, _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let requests = (0..<3).map { _ in request(proxy) }
        let batch = APIBatch(.failFast)
        for request in requests { batch.add(request) }
        batch.start()
        await transport.waitForRequests(3)
        proxy.logout()
        try await until { recorder.ended == 3 }
        for id in recorder.ids {
            #expect(stepsOfCancelledLoad(id) == ["began", "started", "made", "cancelled"])
        }
        #expect(recorder.violations.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func `Loads over sockets have events in a legal order`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            request.path.hasSuffix("moved") || request.path.hasSuffix("0")
                ? .json(bytes: goodsJSON([]).utf8)
                : Response(status: 302, headers: ["Location": "/moved", "Content-Length": "0"], steps: [])
        }
        let service = APIService.sample { $0.baseURL = server.baseURL }
        let proxy = APIProxy(service: service, transport: try kind.make(), monitors: [recorder])
        let requests = (0..<10).map { number in request(proxy) { $0.path = "/\(number)" } }
        for request in requests { request.loadData() }
        #expect(await screen.endings(of: requests).allSatisfy { $0 == .success })
        try await until { recorder.ended == 10 }
        #expect(recorder.violations.isEmpty, "\(recorder.violations)")
        #expect(recorder.events.count { $0.kind.step == "made" } == 19)
    }
}

@MainActor
@Suite("Monitors that observe some of the events", .hangLimit, .timeLimit(.minutes(10)))
struct ObservedLevelTests {
    private final class LevelRecorder: APIMonitor {
        let observedLevel: APIEvent.Level
        private let recorded = Lock<[APIEvent]>([])

        init(_ level: APIEvent.Level) {
            observedLevel = level
        }

        var events: [APIEvent] { recorded.withLock { $0 } }
        var steps: [String] { events.map(\.kind.step) }

        func observe(_ event: APIEvent) { recorded.withLock { $0.append(event) } }
    }

    private static let url = URL("http://shop.test/goods")

    /// Whether the request that was sent had an observer.
    private func sendsObserver(to monitors: [any APIMonitor]) async throws -> Bool {
        let transport = ScriptedTransport { request in
            HTTPResponse(status: 200, body: Data("\(request.observer != nil)".utf8))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: monitors)
        return try await proxy.send(HTTPRequest(.get, Self.url)).text == "true"
    }

    @Test func `Each monitor receives the events of its level, and no others`() async throws {
        let (all, endings) = (EventRecorder(), LevelRecorder(.endings))
        let exchanges = LevelRecorder(.exchanges)
        let responses = Lock(0)
        let transport = ScriptedTransport { _ in
            let count = responses.withLock { count in
                count += 1
                return count
            }
            return HTTPResponse(status: count == 1 ? 503 : 200, body: Data("{}".utf8))
        }
        let clock = ManualClock()
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            $0.monitors = [exchanges]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock, monitors: [all, endings])
        async let response = proxy.send(HTTPRequest(.get, URL("/goods")), to: service)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1_000))
        #expect(try await response.status == 200)
        try await until { all.ended == 1 && exchanges.events.count == 5 }
        #expect(all.violations.isEmpty)
        #expect(exchanges.steps == ["made", "responded 503", "made", "responded 200", "success"])
        #expect(endings.steps == ["success"])
        #expect(all.events.count > exchanges.events.count)
        let ending = try #require(endings.events.first)
        #expect(ending.attempt == 2 && ending.response?.status == 200)
        #expect(ending.elapsed > .zero && ending.elapsed == all.events.last?.elapsed)
    }

    @Test func `A load without monitors has no trace`() {
        var service = APIService.sample()
        let (none, some) = (ObservingMonitors([]), ObservingMonitors([LevelRecorder(.endings)]))
        func hasTrace(_ monitors: ObservingMonitors) -> Bool {
            monitors.trace(of: .next(), method: .get, path: "/", for: service) != nil
        }
        #expect(!hasTrace(none) && hasTrace(some))
        service.monitors = [LevelRecorder(.endings)]
        #expect(hasTrace(none))
    }

    @Test func `A transport reports only to monitors that observe it`() async throws {
        #expect(try await !sendsObserver(to: []))
        #expect(try await !sendsObserver(to: [LevelRecorder(.exchanges)]))
        #expect(try await sendsObserver(to: [LevelRecorder(.endings), LevelRecorder(.everything)]))
    }

    @Test func `Events of a load that began without its first event are in order`() async throws {
        let recorder = LevelRecorder(.exchanges)
        let transport = ScriptedTransport { _ in HTTPResponse(status: 204) }
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: [recorder])
        _ = try await proxy.send(HTTPRequest(.get, Self.url))
        try await until { recorder.events.count == 3 }
        #expect(recorder.steps == ["made", "responded 204", "success"])
        #expect(proxy.monitors.count == 1 && proxy.monitors.first as? LevelRecorder === recorder)
    }
}
