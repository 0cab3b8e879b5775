import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Loads with identical requests share one exchange", .hangLimit, .timeLimit(.minutes(10)))
struct SharedExchangesTests {
    let gate = Latch()
    let service = APIService.sample()

    private func context(perHost: Int = 64) -> (APIProxy, ScriptedTransport) {
        let transport = ScriptedTransport { [gate] request in
            try await gate.wait()
            guard request.url.path != "/api/lost" else { throw TransportError(.connectionLost, "lost") }
            return HTTPResponse(status: 200, body: Data("response".utf8))
        }
        return (.sample(transport, perHost: perHost), transport)
    }

    /// Begins a load, which is in the table of `context` until it has a response.
    private func load(
        _ call: Call<String>,
        in generation: Int = 0,
        _ context: APIProxy
    ) -> Task<Result<APIResponse, APIError>, Never> {
        context.loads.insert(.sample(call.id))
        return Task {
            defer { _ = context.loads.claim(call.id) }
            do throws(APIError) {
                let request = try call.draft.request(for: call.service)
                let exchanges = context.sharedExchanges
                let response = try await exchanges.response(to: request, of: call, in: generation, context)
                return response.map(Result.success) ?? .failure(APIError(.cancelled))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test func `A load after the cookies were cleared joins none from before, whichever service has ended its session`()
        async throws
    {
        let (context, transport) = context()
        let cookies = CookieJar()
        let first = load(.shared(service, cookies), context)
        await transport.waitForRequests(1)
        cookies.removeAll()
        let others = (0..<2).map { _ in load(.shared(service, cookies), context) }
        await suspend(while: context.sharedExchanges.memberCount < 3)
        #expect(context.sharedExchanges.count == 2)
        gate.open()
        for load in [first] + others { _ = try await load.value.get() }
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [(HTTPMethod.post, 200, 3), (.delete, 303, 3), (.get, 200, 2), (.post, 500, 3), (.put, 0, 3)])
    func `A load after a change on the server joins none from before`(
        _ method: HTTPMethod,
        _ status: Int,
        _ expected: Int
    ) async throws {
        let transport = ScriptedTransport { [gate] request in
            guard request.url.path != "/api/change" else {
                guard status > 0 else { throw TransportError(.connectionLost, "lost") }
                return .status(status)
            }
            try await gate.wait()
            return HTTPResponse(status: 200, body: Data("response".utf8))
        }
        let service = APIService.sample { ($0.retryPolicy, $0.redirectPolicy) = (.never, .refuse) }
        let proxy = APIProxy(fake: transport, service: service)
        func load() -> Task<String, any Error> {
            let options = APIRequestOptions(coalescesIdentical: true)
            return Task { try await APIRequest<String>("/goods", options: options, proxy: proxy).value() }
        }
        let first = load()
        await transport.waitForRequests(1)
        _ = try? await APIRequest<Void>("/change", method: method, proxy: proxy).value()
        let second = load()
        await suspend(while: proxy.sharedLoadCount < 2)
        await transport.waitForRequests(expected)
        gate.open()
        for load in [first, second] { #expect(try await load.value == "response") }
        #expect(transport.requests.count == expected)
    }

    @Test func `Loads that join have the response of the first one, and none joins afterwards`() async throws {
        let (context, transport) = context()
        let cookies = CookieJar()
        let calls = (0..<5).map { _ in Call<String>.shared(service, cookies) }
        let loads = calls.map { load($0, context) }
        await suspend(while: context.sharedExchanges.memberCount < 5)
        #expect(context.sharedExchanges.count == 1)
        gate.open()
        for load in loads { #expect(try await load.value.get().body == Data("response".utf8)) }
        #expect(transport.requests.count == 1)
        #expect(context.sharedExchanges.count == 0)
        _ = try await load(.shared(service, cookies), context).value.get()
        #expect(transport.requests.count == 2, "an exchange that has ended is not joined")
    }

    @Test func `Another path, login generation or cookie jar is another exchange`() async throws {
        let (context, transport) = context()
        let cookies = CookieJar()
        let loads = [
            load(.shared(service, cookies), context), load(.shared(service, cookies, path: "/other"), context),
            load(.shared(service, cookies), in: 1, context), load(.shared(service, CookieJar()), context),
        ]
        await suspend(while: context.sharedExchanges.memberCount < 4)
        #expect(context.sharedExchanges.count == 4)
        gate.open()
        for load in loads { _ = try await load.value.get() }
        #expect(transport.requests.count == 4)
    }

    @Test func `A failure ends all loads of the exchange, and releases its place in the queue`() async {
        let (context, _) = context(perHost: 1)
        let cookies = CookieJar()
        gate.open()
        for _ in 0..<3 {
            let loads = (0..<3).map { _ in load(.shared(service, cookies, path: "/lost"), context) }
            for load in loads { #expect(await load.value.error?.type == .transport) }
        }
        #expect(context.sharedExchanges.count == 0)
        #expect(context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `A cancelled load leaves the exchange, which is cancelled with its last load`() async throws {
        let (context, transport) = context(perHost: 1)
        let cookies = CookieJar()
        let calls = (0..<3).map { _ in Call<String>.shared(service, cookies) }
        let loads = calls.map { load($0, context) }
        await suspend(while: context.sharedExchanges.memberCount < 3)
        await transport.waitForRequests(1)
        loads[0].cancel()
        #expect(await loads[0].value.error?.type == .cancelled)
        #expect(context.sharedExchanges.memberCount == 2)
        for load in loads[1...] { load.cancel() }
        for load in loads[1...] { #expect(await load.value.error?.type == .cancelled) }
        #expect(context.sharedExchanges.count == 0)
        // The gate is closed: the place is free because the exchange has ended.
        await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `An exchange all of whose loads end while it queues is not sent`() async throws {
        let (context, transport) = context(perHost: 1)
        let place = QueuePlace.next(service.queueLane(.normal))
        #expect(context.queue.admitAtOnce(place))
        let cookies = CookieJar()
        let calls = (0..<2).map { _ in Call<String>.shared(service, cookies) }
        let loads = calls.map { load($0, context) }
        await suspend(while: context.queue.waitingCount < 1 || context.sharedExchanges.memberCount < 2)
        for call in calls { _ = context.loads.claim(call.id) }
        context.queue.leave(place)
        for load in loads { #expect(await load.value.error?.type == .cancelled) }
        #expect(transport.requests.isEmpty)
        await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `An exchange whose login is replaced while it queues is not sent`() async {
        let (context, transport) = context(perHost: 1)
        let service = APIService.sample { $0.reloginHandler = DeinitObserver {} }
        let place = QueuePlace.next(service.queueLane(.normal))
        #expect(context.queue.admitAtOnce(place))
        gate.open()
        let cookies = CookieJar()
        let loads = (0..<2).map { _ in load(.shared(service, cookies), context) }
        await suspend(while: context.queue.waitingCount < 1 || context.sharedExchanges.memberCount < 2)
        service.login.beginSession()
        service.login.didSignIn()
        context.queue.leave(place)
        for load in loads { #expect(await load.value.error?.type == .cancelled) }
        #expect(transport.requests.isEmpty)
        #expect(context.sharedExchanges.count == 0)
        await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `Loads that join, leave and end at random have one response each`() async {
        let (context, _) = context(perHost: 2)
        gate.open()
        let cookies = CookieJar()
        let endings = await withTaskGroup(of: APIErrorType?.self) { group in
            for number in 0..<2_000 {
                let load = load(.shared(service, cookies, path: "/\(number % 3)"), context)
                if number.isMultiple(of: 4) { load.cancel() }
                group.addTask { await load.value.error?.type }
                if number.isMultiple(of: 7) { await Task.yield() }
            }
            return await group.reduce(into: [APIErrorType?: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(endings.values.reduce(0, +) == 2_000)
        #expect(Set(endings.keys).isSubset(of: [nil, .cancelled]))
        #expect(endings[nil, default: 0] >= 1_500)
        await suspend(while: context.sharedExchanges.count > 0)
        for _ in 0..<2 { await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal)))) }
    }
}

extension Call<String> {
    /// A call with the jar of others.
    fileprivate static func shared(_ service: APIService, _ cookies: CookieJar, path: String = "/goods") -> Call {
        .sample(path: path, service: service, cookies: cookies)
    }
}

extension Result {
    fileprivate var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}

@MainActor
@Suite("Identical loads share one exchange when their requests allow it", .hangLimit, .timeLimit(.minutes(10)))
struct JoinTests {
    let screen = Screen(params: ["q": "pen"])
    let gate = Latch()

    private func transport() -> ScriptedTransport {
        ScriptedTransport { [gate] _ in
            try await gate.wait()
            return .json(goodsJSON([Goods(id: 1, name: "pen")]))
        }
    }

    private func request(_ proxy: APIProxy, joins: Bool = true, _ method: HTTPMethod = .get) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.method = method
        request.ownOptions.coalescesIdentical = joins
        return request
    }

    @Test func `Identical loads share one exchange, and each has an ID and an ending`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let requests = (0..<10).map { _ in request(proxy) }
        let ids = requests.map { $0.loadData() }
        await suspend(while: proxy.sharedLoadCount < 10)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 10))
        #expect(Set(ids).count == 10)
        #expect(transport.requests.count == 1)
        #expect(requests.allSatisfy { $0.response?.first?.name == "pen" })
        #expect(proxy.sharedLoadCount == 0)
    }

    @Test func `A load with a higher priority that joins a waiting exchange moves it`() async {
        let transport = ScriptedTransport { [gate] request in
            if request.url.path.hasSuffix("/first") { try await gate.wait() }
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: QueueLimits(perHost: 1))
        let requests = ["/first", "/shared", "/other", "/shared"].map { path in
            let request = request(proxy, joins: path == "/shared")
            request.path = path
            return request
        }
        requests[1].ownOptions.priority = .background
        requests[3].ownOptions.priority = .userInitiated
        requests[0].loadData()
        await transport.waitForRequests(1)
        for (count, request) in requests.dropFirst().enumerated() {
            request.loadData()
            await suspend(while: count < 2 ? proxy.queuedCount < count + 1 : proxy.sharedLoadCount < 2)
        }
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 4))
        #expect(transport.requests.map(\.url.lastPathComponent) == ["first", "shared", "other"])
    }

    @Test(arguments: [false, true])
    func `A waiting exchange has the highest priority of the loads that are left`(_ othersHaveIt: Bool) async {
        let transport = ScriptedTransport { [gate] request in
            if request.url.path.hasSuffix("/first") { try await gate.wait() }
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: QueueLimits(perHost: 1))
        let requests = ["/first", "/shared", "/shared", "/shared", "/other"].map { path in
            let request = request(proxy, joins: path == "/shared")
            request.path = path
            return request
        }
        requests[1].ownOptions.priority = .background
        requests[2].ownOptions.priority = .userInitiated
        requests[3].ownOptions.priority = othersHaveIt ? .userInitiated : .background
        requests[0].loadData()
        await transport.waitForRequests(1)
        for (count, request) in requests[1...3].enumerated() {
            request.loadData()
            await suspend(while: proxy.sharedLoadCount < count + 1 || proxy.queuedCount < 1)
        }
        requests[2].cancelAllRequests()
        requests[4].loadData()
        await suspend(while: proxy.queuedCount < 2)
        gate.open()
        #expect(await screen.endings(of: requests).count { $0 == .success } == 4)
        let paths = ["first"] + (othersHaveIt ? ["shared", "other"] : ["other", "shared"])
        #expect(transport.requests.map(\.url.lastPathComponent) == paths)
    }

    @Test func `A cancel ends one load and leaves the exchange to the others`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let (first, second) = (request(proxy), request(proxy))
        first.loadData()
        second.loadData()
        await suspend(while: proxy.sharedLoadCount < 2)
        first.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 1)
        #expect(first.response == nil && second.response != nil)
    }

    @Test func `Cancelling the last load cancels the exchange, and the next load begins a new one`() async {
        let isCancelled = Latch()
        let transport = ScriptedTransport { [gate] _ in
            do {
                try await gate.wait()
            } catch {
                isCancelled.open()
                throw error
            }
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(fake: transport)
        let requests = (0..<3).map { _ in request(proxy) }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 3 || transport.requests.isEmpty)
        proxy.cancelAllRequests()
        #expect(await screen.endings(of: requests) == [.cancelled, .cancelled, .cancelled])
        try? await isCancelled.wait()
        #expect(proxy.sharedLoadCount == 0)
        requests[0].loadData()
        await transport.waitForRequests(2)
        gate.open()
        #expect(await screen.endings(of: [requests[0]]) == [.success])
    }

    @Test func `Loads that differ, or that do not allow it, have separate exchanges`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let requests = [
            request(proxy), request(proxy, joins: false), request(proxy, .post), request(proxy), request(proxy),
        ]
        requests[3].path = "/other"
        requests[4].customHeaders = ["Accept-Language": "de"]
        for request in requests { request.loadData() }
        await transport.waitForRequests(5)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 5))
    }

    @Test func `Loads with different bodies or limits have separate exchanges`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let requests = (0..<4).map { _ in request(proxy) }
        for (number, request) in requests.prefix(2).enumerated() {
            request.customSerializer = .raw(.data(Data("\(number)".utf8)), contentType: "text/plain")
        }
        requests[3].customService = proxy.defaultService
        requests[3].customService?.limits.bodyBytes = 9_000
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 4)
        #expect(proxy.exchangeCount == 4)
        gate.open()
        let endings = await screen.endings(of: requests)
        #expect(endings.allSatisfy { $0 == .success })
    }

    @Test(.fault(42)) func `A load of the next session does not join an exchange of the previous one`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let (last, next) = (request(proxy), request(proxy))
        last.loadData()
        await transport.waitForRequests()
        // The first half of a logout.
        proxy.defaultService?.login.startNewSession()
        next.loadData()
        await suspend(while: proxy.sharedLoadCount < 2)
        #expect(proxy.exchangeCount == 2)
        gate.open()
        #expect(await screen.endings(2) == [.success, .success])
    }

    @Test func `A failure is delivered to all loads, and each is retried by its own policy`() async {
        let (count, second) = (Counter(), Latch())
        let transport = ScriptedTransport { [gate] _ in
            guard count.next() == 1 else {
                try await second.wait()
                return .json(goodsJSON([]))
            }
            try await gate.wait()
            throw TransportError(.connectionLost, "cut")
        }
        let proxy = APIProxy(fake: transport)
        let requests = (0..<4).map { _ in request(proxy) }
        var policy = RetryPolicy(maxRetries: 1)
        policy.baseDelay = .zero
        for request in requests.dropFirst() { request.ownOptions.retryPolicy = policy }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 4)
        gate.open()
        // The policy of the service is to retry nothing.
        #expect(await screen.ending() == .failure(.transport))
        #expect(requests[0].error?.type == .transport)
        // The others share the next exchange.
        await suspend(while: proxy.sharedLoadCount < 3)
        second.open()
        #expect(await screen.endings(3) == [.success, .success, .success])
        #expect(requests.dropFirst().allSatisfy { $0.isSuccess })
        #expect(transport.requests.count == 2)
    }
}

extension APIProxy {
    /// The number of shared exchanges.
    fileprivate var exchangeCount: Int { sharedExchanges.count }
}
