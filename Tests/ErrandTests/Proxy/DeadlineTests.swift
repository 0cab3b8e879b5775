import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// The deadline of a load, which covers everything from its turn to its ending.
@MainActor @Suite("The deadline of a load", .hangLimit, .timeLimit(.minutes(10)))
struct DeadlineTests {
    let screen = Screen()
    let clock = ManualClock()
    let account = Account()

    private func proxy(_ transport: ScriptedTransport, _ change: (inout APIService) -> Void = { _ in }) -> APIProxy {
        let service = APIService.sample {
            $0.deadline = .seconds(10)
            change(&$0)
        }
        let limits = QueueLimits(perHost: 1)
        return APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
    }

    @Test func `By default, a silence of a minute ends a load, and no deadline does`() {
        let service = APIService(baseURL: URL("http://shop.test"))
        #expect(service.timeout == .seconds(60))
        #expect(service.deadline == nil)
        let request = GoodsRequest(proxy: APIProxy())
        #expect(request.timeout == nil && request.options.deadline == nil)
    }

    @Test(.blocksThread)
    func `The deadline of a call passes while the main actor, which has the renewal date, is busy`() async throws {
        let service = APIService.sample { $0.reloginHandler = account }
        let transport = ScriptedTransport { _ in .status(200) }
        let proxy = APIProxy(service: service, transport: transport, queueLimits: QueueLimits(perHost: 1))
        let outcome = Lock<APIErrorType?>(nil)
        Task.detached {
            var request = HTTPRequest(.get, URL("/sync"))
            request.deadline = .milliseconds(50)
            do throws(APIError) {
                _ = try await proxy.send(request, to: service)
            } catch {
                outcome.withLock { $0 = error.type }
            }
        }
        spin(while: outcome.withLock { $0 == nil })
        #expect(outcome.withLock(\.self) == .timeout)
        // Its place in the queue is free.
        #expect(try await proxy.send(HTTPRequest(.get, URL("/sync")), to: service).status == 200)
    }

    private func load(_ proxy: APIProxy, _ path: String = "/goods", isCoalescing: Bool = false) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        (request.path, request.method) = (path, .get)
        request.ownOptions.coalescesIdentical = isCoalescing
        request.loadData()
        return request
    }

    @Test func `A load that the server never responds to ends as a timeout, and its exchange is cancelled`() async {
        let (never, ended) = (Latch(), Latch())
        let transport = ScriptedTransport { _ in
            defer { ended.open() }
            try await never.wait()
            return .json(goodsJSON([]))
        }
        let request = load(proxy(transport))
        await transport.waitForRequests(1)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(9))
        #expect(request.isLoading)
        clock.advance(by: .seconds(1))
        #expect(await screen.ending() == .failure(.timeout))
        #expect(request.error?.path == "/goods")
        try? await ended.wait()
        #expect(screen.events.count == 1)
    }

    @Test(arguments: [false, true]) func `No ending of a load leaves its timer`(isLeft: Bool) async {
        let never = Latch()
        let transport = ScriptedTransport { _ in
            try await never.wait()
            return .json(goodsJSON([]))
        }
        let request = GoodsRequest(proxy: proxy(transport))
        request.ownOptions.deadline = .seconds(10)
        let caller = Task { await request.outcome() }
        await clock.waitForSleepers()
        if isLeft { caller.cancel() } else { never.open() }
        #expect(await caller.value == (isLeft ? .cancelled : nil))
        await suspend(while: clock.sleepers > 0)
        never.open()
    }

    @Test(arguments: [false, true])
    func `A load whose service never returns from adapting ends as a timeout`(_ isCoalescing: Bool) async {
        let never = Latch()
        defer { never.open() }
        let proxy = proxy(ScriptedTransport()) {
            $0.adapters.request = [Adapter { _, _ in await never.waitIgnoringCancellation() }]
        }
        let request = load(proxy, isCoalescing: isCoalescing)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        #expect(await screen.ending() == .failure(.timeout))
        #expect(proxy.activeRequests.isEmpty)
        withExtendedLifetime(request) {}
    }

    @Test func `The deadline includes back-off`() async {
        let (never, requests) = (Latch(), Counter())
        let transport = ScriptedTransport { _ in
            guard requests.next() > 1 else { return .status(429, headers: ["Retry-After": "9"]) }
            try await never.wait()
            return .json(goodsJSON([]))
        }
        let request = load(proxy(transport) { $0.retryPolicy = RetryPolicy() })
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(9))
        await transport.waitForRequests(2)
        clock.advance(by: .seconds(1))
        #expect(await screen.ending() == .failure(.timeout))
        withExtendedLifetime(request) {}
    }

    @Test(arguments: [429, 503], [false, true])
    func `A load whose deadline would pass in the delay that a server asks for fails at once, with the response`(
        _ status: Int,
        _ isCoalescing: Bool
    ) async {
        let transport = ScriptedTransport { _ in .status(status, headers: ["Retry-After": "10"]) }
        let proxy = proxy(transport) { $0.retryPolicy = RetryPolicy() }
        let request = load(proxy, isCoalescing: isCoalescing)
        #expect(await screen.ending() == .failure(.http))
        #expect(request.error?.status == status)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [false, true])
    func `The deadline includes a relogin, which continues for the other loads`(_ isCoalescing: Bool) async {
        let gate = Latch()
        account.login = { try await gate.wait() }
        let transport = ScriptedTransport { request in
            request.headers["X-Token"] == "t1" ? .json(goodsJSON([])) : .status(401)
        }
        let proxy = proxy(transport) { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        let request = load(proxy, isCoalescing: isCoalescing)
        await clock.waitForSleepers(2)
        // One that has begun during the relogin; others are in the queue, whose time does not count.
        let late = isCoalescing ? load(proxy, "/late", isCoalescing: true) : nil
        if late != nil { await clock.waitForSleepers(3) }
        clock.advance(by: .seconds(10))
        for request in [request, late].compactMap(\.self) {
            #expect(await screen.endings(of: [request]) == [.failure(.timeout)])
        }
        let other = load(proxy)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1)
        withExtendedLifetime((request, other)) {}
    }

    @Test func `The deadline excludes time in the queue`() async {
        let gate = Latch()
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("/slow") { try await gate.wait() }
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport) { $0.deadline = nil }
        let slow = load(proxy, "/slow")
        await transport.waitForRequests(1)
        let queued = GoodsRequest(delegate: screen, proxy: proxy)
        queued.ownOptions.deadline = .seconds(1)
        queued.loadData()
        clock.advance(by: .seconds(100))
        gate.open()
        #expect(await screen.endings(of: [slow, queued]) == [.success, .success])
    }

    @Test(arguments: [1, 2])
    func `Time in the queue of an exchange that loads share does not count`(_ count: Int) async {
        let gates = ["slow": Latch(), "shared": Latch()]
        let transport = ScriptedTransport { request in
            try await gates[request.url.lastPathComponent]?.wait()
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport) { $0.deadline = nil }
        let slow = load(proxy, "/slow")
        await transport.waitForRequests(1)
        let shared = (0..<count).map { _ in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.path, request.method, request.ownOptions.coalescesIdentical) = ("/shared", .get, true)
            request.ownOptions.deadline = .seconds(5)
            request.loadData()
            return request
        }
        await suspend(while: proxy.sharedLoadCount < count || proxy.queuedCount < 1)
        clock.advance(by: .seconds(100))
        gates["slow"]?.open()
        #expect(await screen.ending() == .success)
        await transport.waitForRequests(2)
        await clock.waitForSleepers(count)
        let late = GoodsRequest(delegate: screen, proxy: proxy)
        (late.path, late.method, late.ownOptions.coalescesIdentical, late.ownOptions.deadline) = (
            "/shared", .get, true, .seconds(7)
        )
        late.loadData()
        await clock.waitForSleepers(count + 1)
        clock.advance(by: .seconds(6))
        #expect(await screen.endings(of: shared) == Array(repeating: .failure(.timeout), count: count))
        gates["shared"]?.open()
        #expect(await screen.ending() == .success)
        withExtendedLifetime((slow, late)) {}
    }

    @Test func `A request's deadline replaces that of its service`() async {
        let never = Latch()
        let transport = ScriptedTransport { _ in
            try await never.wait()
            return .json(goodsJSON([]))
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy(transport))
        request.ownOptions.deadline = .seconds(2)
        request.loadData()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(2))
        #expect(await screen.ending() == .failure(.timeout))
    }

    @Test func `A load that ends before its deadline leaves no sleeping task`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = load(proxy(transport))
        #expect(await screen.ending() == .success)
        #expect(clock.sleepers == 0)
        withExtendedLifetime(request) {}
    }

    @Test func `A cancelled load ends as cancelled, with or without a deadline`() async {
        let never = Latch()
        let transport = ScriptedTransport { _ in
            try await never.wait()
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport)
        let request = load(proxy)
        await transport.waitForRequests(1)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        withExtendedLifetime(request) {}
    }

    @Test(arguments: [false, true])
    func `The deadline of a plain call covers its redirects`(_ isOfService: Bool) async throws {
        let (gate, sent) = (Latch(), Counter())
        defer { gate.open() }
        let transport = ScriptedTransport { [clock] request in
            // The timer of the call runs.
            await clock.waitForSleepers()
            guard sent.next() < 3 else {
                await gate.waitIgnoringCancellation()
                return .status(200)
            }
            clock.advance(by: .seconds(4))
            return HTTPResponse(status: 302, headers: ["Location": request.url.path + "x"])
        }
        let proxy = APIProxy(service: .sample(), transport: transport, clock: clock)
        var request = HTTPRequest(.get, URL("http://shop.test/a"))
        request.deadline = .seconds(10)
        let call = Task { [request] in
            isOfService ? try await proxy.send(request, to: .sample()) : try await proxy.send(request)
        }
        await transport.waitForRequests(3)
        // Each request has what is left, for the transport to end it.
        #expect(transport.requests.map(\.deadline) == [.seconds(10), .seconds(6), .seconds(2)])
        #expect(proxy.activeRequests.count == 1, "the deadline has not passed")
        clock.advance(by: .seconds(2))
        // And the call ends also when its transport does not.
        let error = await #expect(throws: APIError.self) { try await call.value }
        #expect(error?.type == .timeout)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `A redirect that arrives at the deadline of its exchange is not followed`() throws {
        let redirect = HTTPResponse(status: 302, headers: ["Location": "/x"])
        var request = HTTPRequest(.get, URL("http://shop.test/"))
        request.deadline = .seconds(10)
        let proxy = APIProxy.sample(clock: clock)
        let exchange = Exchange(request, id: nil, session: nil, proxy: proxy, trace: nil)
        clock.advance(by: .seconds(5))
        #expect(try exchange.receive(redirect)?.status == nil)
        #expect(try exchange.nextRequest().deadline == .seconds(5))
        clock.advance(by: .seconds(5))
        var failure: TransportError?
        let next = HTTPResponse(status: 302, headers: ["Location": "/y"])
        do throws(TransportError) { _ = try exchange.receive(next) } catch { failure = error }
        #expect(failure?.kind == .timeout)
    }
}
