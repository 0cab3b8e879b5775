import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A load is sent again only where that is safe", .hangLimit, .timeLimit(.minutes(10)))
struct RetryTests {
    let screen = Screen()
    let clock = ManualClock()

    private func proxy(_ transport: ScriptedTransport, _ change: (inout RetryPolicy) -> Void = { _ in }) -> APIProxy {
        var policy = RetryPolicy()
        change(&policy)
        let service = APIService.sample { $0.retryPolicy = policy }
        return APIProxy(service: service, transport: transport, clock: clock)
    }

    private func request(_ proxy: APIProxy, _ method: HTTPMethod = .get) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = method
        return request
    }

    /// Advances the clock past every back-off.
    private func skipBackOffs() -> Task<Void, Never> {
        Task { [clock] in
            while !Task.isCancelled {
                await clock.waitForSleepers()
                clock.advance(by: .seconds(10))
            }
        }
    }

    private func loadToEnd(_ request: GoodsRequest) async -> Screen.Event? {
        let skipping = skipBackOffs()
        defer { skipping.cancel() }
        request.loadData()
        return await screen.ending()
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504])
    func `A temporary status is retried twice`(_ status: Int) async {
        let responses = Responses([.status(status), .status(status), .json(goodsJSON([Goods(id: 1, name: "pen")]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let request = request(proxy(transport))
        #expect(await loadToEnd(request) == .success)
        #expect(request.response?.count == 1)
        #expect(transport.requests.count == 3)
        #expect(screen.events == [.success])
    }

    @Test func `The third failure ends the load, once`() async {
        let transport = ScriptedTransport { _ in .status(503) }
        let request = request(proxy(transport))
        #expect(await loadToEnd(request) == .failure(.http))
        #expect(request.error?.status == 503)
        #expect(transport.requests.count == 3)
        #expect(screen.events.count == 1)
    }

    @Test(arguments: [
        TransportError.Kind.cannotConnect, .connectionLost, .noNetwork, .hostNotFound,
    ])
    func `A connection that failed is tried again`(_ kind: TransportError.Kind) async {
        let counter = Counter()
        let transport = ScriptedTransport { _ in
            if counter.next() < 2 { throw TransportError(kind, "refused") }
            return .json(goodsJSON([]))
        }
        #expect(await loadToEnd(request(proxy(transport))) == .success)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [
        TransportError.Kind.invalidRequest, .badResponse, .timeout, .security, .responseTooLarge, .storage,
    ])
    func `A permanent failure is not retried`(_ kind: TransportError.Kind) async {
        let transport = ScriptedTransport { _ in throw TransportError(kind, "no") }
        let request = request(proxy(transport))
        request.loadData()
        #expect(await screen.ending() != .success)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [
        HTTPResponse.json("not JSON"), .json(#"{"errcode":5,"msg":"sold out"}"#), .status(404), .status(401),
    ])
    func `A final response is not requested again`(_ response: HTTPResponse) async {
        let transport = ScriptedTransport { _ in response }
        let request = request(proxy(transport))
        request.loadData()
        _ = await screen.ending()
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [HTTPMethod.post, .patch])
    func `A method that is not idempotent is not repeated unless the request allows it`(
        _ method: HTTPMethod
    ) async {
        let transport = ScriptedTransport { _ in .status(503) }
        let proxy = proxy(transport)
        let plain = request(proxy, method)
        plain.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(transport.requests.count == 1)
        let repeatable = request(proxy, method)
        repeatable.ownOptions.idempotencyKey = { UUID().uuidString }
        #expect(await loadToEnd(repeatable) == .failure(.http))
        let keys = transport.requests.dropFirst().map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 3)
        #expect(Set(keys).count == 1, "one load keeps its key")
        #expect(await loadToEnd(repeatable) == .failure(.http))
        #expect(Set(transport.requests.dropFirst().map { $0.headers["Idempotency-Key"] }).count == 2)
        #expect(transport.requests.allSatisfy { $0.body == transport.requests[0].body })
    }

    @Test func `A retry button sends the key again only where the server may have executed the load`() async {
        let responses = Responses([
            .status(500), .status(409), .json(#"{"errcode":5001,"msg":"declined"}"#), .status(400),
            .json(goodsJSON([])),
        ])
        let transport = ScriptedTransport { _ in responses.next() }
        let request = request(proxy(transport) { $0.maxRetries = 0 }, .post)
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        _ = await screen.ending()
        for _ in 0..<5 {
            request.loadAgain()
            _ = await screen.ending()
        }
        request.loadData()
        #expect(await screen.ending() == .success)
        let keys = transport.requests.map { $0.headers["Idempotency-Key"] }
        #expect(keys[0] == keys[1] && keys[1] == keys[2], "500 and 409 leave open what has happened")
        #expect(Set(keys[2...]).count == 5, "a refusal, a success, and a new load")
    }

    @Test(arguments: [false, true])
    func `A retry button sends the key again after an expired login, which says nothing of the try before`(
        _ isSecondLoad: Bool
    ) async {
        let tries = Counter()
        let transport = ScriptedTransport { _ in
            switch tries.next() {
            case 1: throw TransportError(isSecondLoad ? .timeout : .connectionLost, "may have been executed")
            case 2: .status(401)
            default: .json(goodsJSON([]))
            }
        }
        let request = request(
            proxy(transport) { ($0.baseDelay, $0.maxRetries) = (.zero, isSecondLoad ? 0 : 2) },
            .post
        )
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        if isSecondLoad {
            #expect(await screen.ending() == .failure(.timeout))
            request.loadAgain()
        }
        #expect(await screen.ending() == .failure(.loginExpired))
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(Set(transport.requests.map { $0.headers["Idempotency-Key"] }).count == 1)
    }

    @Test func `A retry button sends the key again when a later try could not be made`() async {
        struct NoToken: Error {}
        let (tries, keys) = (Counter(), Counter())
        let transport = ScriptedTransport { _ in
            guard tries.next() > 1 else { throw TransportError(.connectionLost, "lost") }
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport) { $0.baseDelay = .zero }
        proxy.defaultService?.adapters.request = [
            Adapter { _, context in if context.attempt == 2 { throw NoToken() } }
        ]
        let request = request(proxy, .post)
        request.ownOptions.idempotencyKey = { "key \(keys.next())" }
        request.loadData()
        #expect(await screen.ending() == .failure(.invalidRequest))
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Idempotency-Key"] } == ["key 1", "key 1"])
    }

    @Test func `A retry button sends the key of a cancelled load again`() async {
        let latch = Latch()
        let transport = ScriptedTransport { _ in
            try await latch.wait()
            return .json(goodsJSON([]))
        }
        let request = request(proxy(transport), .post)
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        await transport.waitForRequests()
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        latch.open()
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(Set(transport.requests.map { $0.headers["Idempotency-Key"] }).count == 1)
    }

    @Test(
        arguments: [429, 503],
        [("7", Duration.seconds(7)), ("Tue, 14 Nov 2023 22:13:50 GMT", .seconds(30)), ("3600", .seconds(60))]
    )
    func `A method that is not idempotent is repeated after Retry-After, with which a server asks for that`(
        _ status: Int,
        _ delay: (text: String, length: Duration)
    ) async {
        let responses = Responses([.status(status, headers: ["Retry-After": delay.text]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.baseDelay = .zero }
        request(proxy, .post).loadRetainingSelf()
        await clock.waitForSleepers()
        clock.advance(by: delay.length - .milliseconds(1))
        await sentinel(proxy)
        #expect(transport.requests.count == 1)
        clock.advance(by: .milliseconds(1))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map(\.method) == [.post, .post])
    }

    @Test func `Retry-After makes a load wait no longer than its policy allows`() async {
        let responses = Responses([.status(503, headers: ["Retry-After": "3600"]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { ($0.baseDelay, $0.maxRetryAfter) = (.zero, .seconds(3)) }
        request(proxy).loadRetainingSelf()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(3) - .milliseconds(1))
        await sentinel(proxy)
        #expect(transport.requests.count == 1)
        clock.advance(by: .milliseconds(1))
        #expect(await screen.ending() == .success)
    }

    @Test(arguments: [
        HTTPResponse.status(503), .status(503, headers: ["Retry-After": "soon"]), .status(429),
        .status(500, headers: ["Retry-After": "1"]), .status(408, headers: ["Retry-After": "1"]),
    ])
    func `A POST that may have been executed is sent once`(_ response: HTTPResponse) async {
        let transport = ScriptedTransport { _ in response }
        request(proxy(transport), .post).loadRetainingSelf()
        #expect(await screen.ending() == .failure(.http))
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [429, 503])
    func `Retry-After repeats only idempotent methods if the policy limits it to them`(_ status: Int) async {
        let responses = Responses([
            .status(status, headers: ["Retry-After": "1"]), .status(status, headers: ["Retry-After": "1"]),
            .json(goodsJSON([])),
        ])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.retryAfterAppliesToAllMethods = false }
        request(proxy, .post).loadRetainingSelf()
        #expect(await screen.ending() == .failure(.http))
        let idempotent = request(proxy)
        #expect(await loadToEnd(idempotent) == .success)
        #expect(transport.requests.map(\.method) == [.post, .get, .get])
    }

    @Test func `A POST that was executed before a redirect is sent once`() async {
        let transport = ScriptedTransport { request in
            request.method == .post
                ? .status(303, headers: ["Location": "/result"]) : .status(503, headers: ["Retry-After": "1"])
        }
        request(proxy(transport), .post).loadRetainingSelf()
        #expect(await screen.ending() == .failure(.http))
        #expect(transport.requests.map(\.method) == [.post, .get])
    }

    @Test func `A request's policy takes precedence over the service's`() async {
        let transport = ScriptedTransport { _ in .status(503) }
        let request = request(proxy(transport))
        request.ownOptions.retryPolicy = .never
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(transport.requests.count == 1)
    }

    @Test(.fault(15)) func `A load that is cancelled in its back-off ends as cancelled and is not sent again`() async {
        let transport = ScriptedTransport { _ in .status(503) }
        let proxy = proxy(transport)
        let request = request(proxy)
        let id = request.loadData()
        await clock.waitForSleepers()
        #expect(proxy.cancelRequest(id))
        #expect(await screen.ending() == .cancelled)
        await suspend(while: clock.sleepers > 0)
        clock.advance(by: .seconds(60))
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
        #expect(transport.requests.count == 1)
    }

    @Test func `The wait of Retry-After is exact to the second`() async {
        let responses = Responses([.status(503, headers: ["Retry-After": "7"]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport)
        request(proxy).loadRetainingSelf()
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(6_999))
        await sentinel(proxy)
        #expect(transport.requests.count == 1)
        clock.advance(by: .milliseconds(1))
        #expect(await screen.ending() == .success)
    }

    @Test(
        .fault(60),
        arguments: [
            ("0", Duration.zero), ("7", .seconds(7)), ("61", .seconds(60)), ("315360000", .seconds(60)),
            ("99999999999999999999999999", .seconds(60)), ("Tue, 14 Nov 2023 22:13:50 GMT", .seconds(30)),
            ("Tuesday, 14-Nov-23 22:13:50 GMT", .seconds(30)), ("Tue Nov 14 22:13:50 2023", .seconds(30)),
            ("Fri, 14 Nov 2053 22:13:50 GMT", .seconds(60)), ("Tue, 14 Nov 2000 22:13:50 GMT", .zero),
            ("-5", nil), ("1.5", nil), ("soon", nil), ("", nil), ("７", nil),
        ] as [(String, Duration?)]
    )
    func `Retry-After is seconds or a date, and never longer than the cap`(_ text: String, _ expected: Duration?) {
        let headers: HTTPHeaders = ["Retry-After": text]
        #expect(headers.retryAfter(at: clock.date, limit: .seconds(60)) == expected)
    }

    @Test func `Each wait is random, from zero to a limit that doubles up to the maximum`() {
        var policy = RetryPolicy()
        policy.baseDelay = .milliseconds(100)
        policy.maxDelay = .milliseconds(350)
        for (retry, longest) in [(0, 100), (1, 200), (2, 350), (40, 350), (.max, 350)] {
            let delays = (0..<500).map { _ in policy.delay(before: retry) }
            #expect(delays.allSatisfy { $0 >= .zero && $0 <= .milliseconds(longest) })
            #expect(delays.contains { $0 > .milliseconds(longest / 2) })
            #expect(delays.contains { $0 < .milliseconds(longest / 2) })
        }
    }

    @Test func `A thousand failing loads cause a tenth as many retries`() async {
        let transport = ScriptedTransport { _ in .status(503) }
        let proxy = proxy(transport) { $0.baseDelay = .zero }
        let requests = (0..<1_000).map { _ in request(proxy) }
        for request in requests { request.loadData() }
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.http), count: 1_000))
        #expect((1_010...1_100).contains(transport.requests.count))
    }

    @Test func `The budget ignores loads that are older than a minute`() {
        let (budget, policy) = (RetryBudget(), RetryPolicy())
        let taken = { (uptime: Duration) in (0..<1_000).count { _ in budget.takeRetry(of: policy, at: uptime) } }
        #expect(taken(.seconds(1)) == 10)
        #expect(taken(.seconds(31)) == 0)
        #expect(taken(.seconds(61)) == 10)
        for _ in 0..<500 { budget.countRequest(at: .seconds(200)) }
        #expect(taken(.seconds(209)) == 50)
        #expect(taken(.seconds(3_600)) == 10)
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test func `A delay of any length can be doubled any number of times`() async {
        await #expect(processExitsWith: .success) {
            var policy = RetryPolicy()
            policy.baseDelay = .seconds(Int64.max)
            #expect(policy.delay(before: 100) <= .seconds(10))
            policy.maxDelay = .seconds(Int64.max)
            #expect(policy.delay(before: 100) >= .zero)
        }
    }
    #endif
}
