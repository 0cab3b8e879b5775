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

    @Test(arguments: [false, true], [false, true])
    func `A retry button sends no key of a session that has ended`(_ isSwitch: Bool, _ prepares: Bool) async throws {
        let tries = Counter()
        let transport = ScriptedTransport { _ in
            guard tries.next() > 1 else { throw TransportError(.timeout, "may have been executed") }
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport) { $0.maxRetries = 0 }
        let request = request(proxy, .post)
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        #expect(await screen.ending() == .failure(.timeout))
        if isSwitch { proxy.switchAccount(to: CookieJar()) } else { proxy.logout() }
        // With a key of its own, of the new session.
        if prepares { _ = try await request.prepare() }
        request.loadAgain()
        // Nor the order.
        #expect(await screen.ending() == .failure(.invalidRequest))
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(Set(transport.requests.compactMap { $0.headers["Idempotency-Key"] }).count == 2)
    }

    enum Target: CaseIterable { case service, defaultService, environment }

    @Test(arguments: Target.allCases)
    func `A retry button sends nothing of another account or environment`(_ target: Target) async throws {
        let tries = Counter()
        let transport = ScriptedTransport { _ in
            guard tries.next() > 1 else { throw TransportError(.timeout, "may have been executed") }
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport) { $0.maxRetries = 0 }
        let (request, other) = (request(proxy, .post), URL("http://other.test"))
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        #expect(await screen.ending() == .failure(.timeout))
        switch target {
        case .service: request.customService = .sample { $0.baseURL = other }
        case .defaultService: proxy.defaultService = .sample { $0.retryPolicy = .never }
        case .environment: proxy.defaultService?.environment = APIEnvironment("staging", baseURL: other)
        }
        request.loadAgain()
        #expect(await screen.ending() == .failure(.invalidRequest))
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(Set(transport.requests.compactMap { $0.headers["Idempotency-Key"] }).count == 2)
    }

    @Test func `A retry button sends nothing of a load whose hook has changed the environment`() async {
        let transport = ScriptedTransport { _ throws(TransportError) in
            throw TransportError(.timeout, "may have been executed")
        }
        let proxy = proxy(transport) { $0.maxRetries = 0 }
        let request = request(proxy, .post)
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.reform = { params in
            proxy.defaultService?.environment = APIEnvironment("staging", baseURL: URL("http://other.test"))
            return params
        }
        request.loadData()
        #expect(await screen.ending() == .failure(.timeout))
        request.loadAgain()
        #expect(await screen.ending() == .failure(.invalidRequest))
        request.loadData()
        #expect(await screen.ending() == .failure(.timeout))
        #expect(transport.requests.map(\.url.host) == ["shop.test", "other.test"])
        #expect(Set(transport.requests.compactMap { $0.headers["Idempotency-Key"] }).count == 2)
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

    @Test(arguments: [(408, true), (425, true), (429, true), (410, false), (422, false)])
    func `A retry button sends the key again after a status that says too slow, too early or too many`(
        _ status: Int,
        _ isSame: Bool
    ) async {
        let responses = Responses([.status(status), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let request = request(proxy(transport) { $0.maxRetries = 0 }, .post)
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect((Set(transport.requests.map { $0.headers["Idempotency-Key"] }).count == 1) == isSame)
    }

    @Test(arguments: [(504, true), (409, true), (422, false), (200, false), (nil, true)])
    func `A retry button sends the key again by the status, whatever an app has made of the error`(
        _ status: Int?,
        _ isSame: Bool
    ) async {
        let responses = Responses([.status(status ?? 500), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.maxRetries = 0 }
        proxy.defaultService?.adapters.failure = [
            Adapter { error, _ in error = APIError(.server, response: status == nil ? nil : error.response) }
        ]
        let request = request(proxy, .post)
        request.ownOptions.idempotencyKey = { UUID().uuidString }
        request.loadData()
        #expect(await screen.ending() == .failure(.server))
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect((Set(transport.requests.map { $0.headers["Idempotency-Key"] }).count == 1) == isSame)
    }

    @Test(arguments: [(HTTPMethod.post, false), (.patch, false), (.get, true)])
    func `A retry button sends a change of the former user for nobody else`(_ method: HTTPMethod, _ isSent: Bool) async
    {
        let responses = Responses([.status(500), .json(goodsJSON([])), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.maxRetries = 0 }
        let request = request(proxy, method)
        request.loadData(params: ["title": "of Ann"])
        #expect(await screen.ending() == .failure(.http))
        proxy.switchAccount(to: CookieJar())
        for count in 1...2 {
            request.loadAgain()
            #expect(await screen.ending() == (isSent ? .success : .failure(.invalidRequest)))
            #expect(transport.requests.count == (isSent ? 1 + count : 1))
        }
        guard !isSent else { return }
        #expect(request.error?.reason == "the load to send again was one of another session")
        request.loadData(params: ["title": "of Bob"])
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 3)
    }

    @Test(arguments: [false, true])
    func `A retry button sends no change of a former user that it has shown, nor with another login`(
        _ isFormer: Bool
    ) async {
        let responses = Responses([.json(goodsJSON([])), .status(500), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.maxRetries = 0 }
        let request = request(proxy, .post)
        request.loadData(params: ["title": "of Ann"])
        #expect(await screen.ending() == .success)
        request.loadData(params: ["title": "also of Ann"])
        #expect(await screen.ending() == .failure(.http))
        if isFormer {
            // Which sends nothing.
            request.loadIfNeeded(maxAge: .seconds(60), params: ["title": "of Ann"])
            #expect(await screen.ending() == .success)
            proxy.logout()
        } else {
            proxy.defaultService = .sample()
        }
        request.loadAgain()
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(transport.requests.count == 2)
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

    /// Expects that the load succeeds after the delay, and that nothing is sent before.
    private func expectSentAgain(
        after delay: Duration,
        by proxy: APIProxy,
        _ transport: ScriptedTransport,
        _ location: SourceLocation = #_sourceLocation
    ) async {
        await clock.waitForSleepers()
        clock.advance(by: delay - .milliseconds(1))
        await sentinel(proxy)
        #expect(transport.requests.count == 1, sourceLocation: location)
        clock.advance(by: .milliseconds(1))
        #expect(await screen.ending() == .success, sourceLocation: location)
    }

    @Test(
        arguments: [429, 503],
        [("7", Duration.seconds(7)), ("Tue, 14 Nov 2023 22:13:50 GMT", .seconds(30)), ("60", .seconds(60))]
    )
    func `A method that is not idempotent is repeated after Retry-After, with which a server asks for that`(
        _ status: Int,
        _ delay: (text: String, length: Duration)
    ) async {
        let responses = Responses([.status(status, headers: ["Retry-After": delay.text]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.baseDelay = .zero }
        request(proxy, .post).loadRetainingSelf()
        await expectSentAgain(after: delay.length, by: proxy, transport)
        #expect(transport.requests.map(\.method) == [.post, .post])
    }

    @Test func `A Retry-After that an adapter has set makes the load wait`() async {
        let responses = Responses([.status(429), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.baseDelay = .zero }
        proxy.defaultService?.adapters.response = [
            Adapter { response, _ in if response.status == 429 { response.headers["Retry-After"] = "30" } }
        ]
        request(proxy).loadRetainingSelf()
        await expectSentAgain(after: .seconds(30), by: proxy, transport)
    }

    @Test func `Retry-After makes a load wait no longer than its policy allows`() async {
        let responses = Responses([.status(503, headers: ["Retry-After": "3"]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { ($0.baseDelay, $0.maxRetryAfter) = (.zero, .seconds(3)) }
        request(proxy).loadRetainingSelf()
        await expectSentAgain(after: .seconds(3), by: proxy, transport)
        let long = ScriptedTransport { _ in .status(503, headers: ["Retry-After": "4"]) }
        request(self.proxy(long) { $0.maxRetryAfter = .seconds(3) }).loadRetainingSelf()
        #expect(await screen.ending() == .failure(.http))
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

    @Test(arguments: [HTTPMethod.post, .get])
    func `The method that an adapter has chosen decides whether a request is sent again`(_ method: HTTPMethod) async {
        let transport = ScriptedTransport { _ in .status(503) }
        let service = APIService.sample {
            ($0.retryPolicy, $0.retryPolicy.baseDelay) = (RetryPolicy(), .zero)
            $0.adapters.request = [Adapter { request, _ in request.method = method }]
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.method = method == .get ? .post : .get
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(transport.requests.map(\.method) == Array(repeating: method, count: method == .get ? 3 : 1))
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
        await expectSentAgain(after: .seconds(7), by: proxy, transport)
    }

    @Test(
        .fault(60),
        arguments: [
            ("0", Duration.zero), ("7", .seconds(7)), ("61", .seconds(61)), ("315360000", .seconds(315_360_000)),
            ("99999999999999999999999999", .seconds(Int32.max)), ("Tue, 14 Nov 2023 22:13:50 GMT", .seconds(30)),
            ("Tuesday, 14-Nov-23 22:13:50 GMT", .seconds(30)), ("Tue Nov 14 22:13:50 2023", .seconds(30)),
            ("Fri, 14 Nov 2053 22:13:50 GMT", .seconds(946_771_230)), ("Tue, 14 Nov 2000 22:13:50 GMT", .zero),
            ("-5", nil), ("1.5", nil), ("soon", nil), ("", nil), ("７", nil),
        ] as [(String, Duration?)]
    )
    func `Retry-After is seconds or a date`(_ text: String, _ expected: Duration?) {
        let headers: HTTPHeaders = ["Retry-After": text]
        #expect(headers.retryAfter(at: clock.date) == expected)
    }

    @Test(
        .fault(60),
        arguments: ["61", "315360000", "99999999999999999999", "Fri, 14 Nov 2053 22:13:50 GMT"],
        [429, 503]
    )
    func `A load whose server asks for a longer delay than the policy allows fails at once`(
        _ delay: String,
        _ status: Int
    ) async {
        let transport = ScriptedTransport { _ in .status(status, headers: ["Retry-After": delay]) }
        let request = request(proxy(transport))
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(request.error?.status == status)
        #expect(request.error?.reason?.contains("longer delay than the retry policy allows") == true)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [(0, .get), (2, .post)] as [(Int, HTTPMethod)])
    func `A load that is not sent again, whatever the delay is, does not blame the delay`(
        _ maxRetries: Int,
        _ method: HTTPMethod
    ) async {
        let transport = ScriptedTransport { _ in .status(503, headers: ["Retry-After": "61"]) }
        let proxy = proxy(transport) { ($0.maxRetries, $0.retryAfterAppliesToAllMethods) = (maxRetries, false) }
        let request = request(proxy, method)
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(request.error?.reason == nil && transport.requests.count == 1)
    }

    @Test(.fault(60)) func `An app that decides to send it again waits for the longest delay of the policy`() async {
        let responses = Responses([.status(503, headers: ["Retry-After": "3600"]), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) { $0.decide = { _, _ in true } }
        request(proxy).loadRetainingSelf()
        await expectSentAgain(after: .seconds(60), by: proxy, transport)
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

    @Test func `A load says that the budget is used up, which pays for no retry that a server asks for`() async {
        let responses = Lock<[HTTPResponse]>([])
        let transport = ScriptedTransport { _ in
            responses.withLock { $0.isEmpty ? .status(503) : $0.removeFirst() }
        }
        let proxy = proxy(transport) { ($0.baseDelay, $0.maxRetries) = (.zero, 40) }
        let request = request(proxy)
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(transport.requests.count == 11)
        #expect(request.error?.reason?.hasSuffix("the budget of the retries of a minute is used up") == true)
        responses.withLock { $0 = [.status(503, headers: ["Retry-After": "7"]), .json(goodsJSON([]))] }
        let other = self.request(proxy)
        other.loadData()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(7))
        #expect(await screen.ending() == .success)
    }

    @Test(arguments: ["21", "22", "23"]) func `A date of Retry-After is one of the server's clock`(_ hour: String) {
        let headers: HTTPHeaders = [
            "Date": "Tue, 14 Nov 2023 \(hour):13:20 GMT", "Retry-After": "Tue, 14 Nov 2023 \(hour):13:25 GMT",
        ]
        #expect(headers.retryAfter(at: clock.date) == .seconds(5))
        // A cache has kept it since.
        var stored = headers
        stored["Age"] = "3"
        #expect(stored.retryAfter(at: clock.date) == .seconds(2))
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
    @Test(.startsLate) func `A delay of any length can be doubled any number of times`() async {
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

@MainActor
@Suite("A load without a network waits for one if its policy allows it", .hangLimit, .timeLimit(.minutes(10)))
struct RetryConnectivityTests {
    let screen = Screen()
    let clock = ManualClock()

    private func waitingRequest(
        _ network: Reachability,
        _ transport: ScriptedTransport,
        timeout: Duration? = nil
    ) -> GoodsRequest {
        var policy = RetryPolicy()
        policy.waitsForConnectivity = true
        if let timeout { policy.connectivityTimeout = timeout }
        let service = APIService.sample { $0.retryPolicy = policy }
        let proxy = APIProxy(service: service, transport: transport, reachability: network, clock: clock)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .post
        return request
    }

    private func unreachable(
        until isThere: Counter,
        _ kind: TransportError.Kind = .noNetwork
    ) -> ScriptedTransport {
        ScriptedTransport { _ in
            guard isThere.count > 0 else { throw TransportError(kind, "no way") }
            return .json(goodsJSON([]))
        }
    }

    @Test func `A load that was served does not wait for a network`() async {
        let network = Reachability(status: .unreachable)
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = waitingRequest(network, transport)
        request.proxy.defaultService?.adapters.response = [Adapter { _, _ in throw APIError(.noNetwork) }]
        request.loadData()
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [TransportError.Kind.noNetwork, .hostNotFound])
    func `A load without a network is sent again when there is one`(_ kind: TransportError.Kind) async {
        let (network, isThere) = (Reachability(status: .unreachable), Counter())
        let transport = unreachable(until: isThere, kind)
        let request = waitingRequest(network, transport)
        request.loadData()
        await clock.waitForSleepers()
        _ = isThere.next()
        network.report(.reachable(.wired))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2)
        await suspend(while: clock.sleepers > 0)
    }

    @Test(arguments: [nil, Duration.seconds(5)])
    func `A load whose network does not return ends with noNetwork`(_ timeout: Duration?) async {
        let transport = unreachable(until: Counter())
        let request = waitingRequest(Reachability(status: .unreachable), transport, timeout: timeout)
        request.loadData()
        await clock.waitForSleepers()
        clock.advance(by: (timeout ?? .seconds(60)) - .milliseconds(1))
        await sentinel(request.proxy)
        #expect(screen.events.isEmpty)
        clock.advance(by: .milliseconds(1))
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(transport.requests.count == 1)
    }

    @Test func `A POST is sent again when the network is back before the app has decided about its failure`() async {
        let (network, isThere) = (Reachability(status: .unreachable), Counter())
        let transport = unreachable(until: isThere)
        let request = waitingRequest(network, transport)
        request.proxy.defaultService?.retryPolicy.decide = { _, _ in
            _ = isThere.next()
            network.report(.reachable(.wired))
            return nil
        }
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2)
    }

    @Test func `A load that waits for a network can be cancelled`() async {
        let network = Reachability(status: .unreachable)
        let transport = unreachable(until: Counter())
        let request = waitingRequest(network, transport)
        request.loadData()
        await clock.waitForSleepers()
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        await suspend(while: network.observerCount > 0 || clock.sleepers > 0)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired), .unreachable])
    func `An unresolved name means no network only when reachability reports none`(
        _ status: ReachabilityStatus
    ) async {
        let (network, transport) = (Reachability(status: status), unreachable(until: Counter(), .hostNotFound))
        let request = waitingRequest(network, transport)
        request.ownOptions.retryPolicy = .never
        request.loadData()
        #expect(await screen.ending() == .failure(status == .unreachable ? .noNetwork : .transport))
        #expect(request.error?.reason == "no way")
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [TransportError.Kind.noNetwork, .hostNotFound])
    func `A POST that lost the network after a redirect is not sent a second time`(
        _ kind: TransportError.Kind
    ) async {
        let transport = ScriptedTransport { request in
            guard request.method == .get else { return .status(303, headers: ["Location": "/there"]) }
            throw TransportError(kind, "no route")
        }
        let request = waitingRequest(Reachability(status: .unreachable), transport)
        request.loadData()
        #expect(await screen.ending() == .failure(.transport))
        #expect(transport.requests.map(\.method) == [.post, .get])
    }

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired)])
    func `Unless reachability reports an outage, a missing network is an ordinary failure`(
        _ status: ReachabilityStatus
    ) async {
        let request = waitingRequest(Reachability(status: status), unreachable(until: Counter()))
        request.loadData()
        #expect(await screen.ending() == .failure(.noNetwork))
    }
}

@MainActor @Suite("The app decides about retries where it wants to", .hangLimit, .timeLimit(.minutes(10)))
struct RetryDecisionTests {
    private func proxy(
        _ transport: ScriptedTransport,
        maxRetries: Int = 2,
        _ decide: @escaping @Sendable (APIError, Int) async -> Bool?
    ) -> APIProxy {
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            ($0.retryPolicy.baseDelay, $0.retryPolicy.maxRetries, $0.retryPolicy.decide) = (.zero, maxRetries, decide)
        }
        return APIProxy(service: service, transport: transport)
    }

    private func requests(
        after transport: ScriptedTransport,
        _ method: HTTPMethod = .get,
        maxRetries: Int = 2,
        _ decide: @escaping @Sendable (APIError, Int) async -> Bool?
    ) async -> Int {
        let proxy = proxy(transport, maxRetries: maxRetries, decide)
        _ = try? await APIRequest<[Goods]>("/goods", method: method, proxy: proxy).value()
        return transport.requests.count
    }

    @Test func `true sends again whatever the status and the method, false does not, and nil is the policy`() async {
        let missing = { @Sendable (_: HTTPRequest) in HTTPResponse.status(404) }
        let busy = { @Sendable (_: HTTPRequest) in HTTPResponse.status(503) }
        #expect(await requests(after: ScriptedTransport { missing($0) }) { _, _ in true } == 3)
        #expect(await requests(after: ScriptedTransport { missing($0) }, .post) { _, _ in true } == 3)
        #expect(await requests(after: ScriptedTransport { missing($0) }) { _, _ in nil } == 1)
        #expect(await requests(after: ScriptedTransport { busy($0) }) { _, _ in false } == 1)
        #expect(await requests(after: ScriptedTransport { busy($0) }) { _, _ in nil } == 3)
        #expect(await requests(after: ScriptedTransport { busy($0) }, .post) { _, _ in nil } == 1)
    }

    @Test func `It is asked with the error and the number of the retry, as often as the policy allows`() async {
        let asked = Lock<[String]>([])
        let count = await requests(after: ScriptedTransport { _ in .json("{") }, maxRetries: 3) { error, retry in
            asked.withLock { $0.append("\(error.type) \(retry)") }
            return true
        }
        #expect(count == 4)
        #expect(asked.withLock(\.self) == ["decoding 1", "decoding 2", "decoding 3"])
        #expect(await requests(after: ScriptedTransport { _ in .status(500) }, maxRetries: 0) { _, _ in true } == 1)
    }

    @Test func `It decides about what the adapters of failures leave`() async {
        let types = Lock<[APIErrorType]>([])
        let transport = ScriptedTransport { _ in .status(404) }
        let proxy = proxy(transport) { error, _ in
            types.withLock { $0.append(error.type) }
            return false
        }
        proxy.defaultService?.adapters.failure = [Adapter { error, _ in error = APIError(.storage) }]
        let error = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        }
        #expect(error?.type == .storage && types.withLock(\.self) == [.storage])
    }

    @Test func `false ends a load that would wait for the network`() async {
        let transport = ScriptedTransport { _ in throw TransportError(.noNetwork, "offline") }
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            ($0.retryPolicy.waitsForConnectivity, $0.retryPolicy.decide) = (true, { _, _ in false })
        }
        let network = Reachability(status: .unreachable)
        let proxy = APIProxy(service: service, transport: transport, reachability: network, clock: ManualClock())
        let request = APIRequest<[Goods]>("/goods", proxy: proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .noNetwork && transport.requests.count == 1)
    }

    @Test func `A load that is cancelled while the app decides is not sent again`() async {
        let (asked, gate) = (Latch(), Latch())
        let screen = Screen()
        let transport = ScriptedTransport { _ in .status(500) }
        let proxy = proxy(transport) { _, _ in
            asked.open()
            try? await gate.wait()
            return true
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try? await asked.wait()
        let tasks = proxy.loads.tasks
        request.cancelAllRequests()
        gate.open()
        #expect(await screen.ending() == .cancelled)
        for task in tasks { await task.value }
        #expect(tasks.count == 1 && transport.requests.count == 1 && screen.events == [.cancelled])
    }
}

@MainActor
@Suite("429 with Retry-After pauses a service's requests to the host", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TooManyRequestsTests {
    let screen = Screen()
    let clock = ManualClock()

    /// A server that accepts `burst` requests in each window of 10 s, and refuses the others.
    private func limited(to burst: Int) -> (ScriptedTransport, refusals: @Sendable () -> [Int: Int]) {
        let windows = Lock((accepted: [Int: Int](), refused: [Int: Int]()))
        let transport = ScriptedTransport { [clock] request in
            if request.url.path.hasSuffix("/login") { return .json(goodsJSON([])) }
            // Once, because the clock is advanced on another thread.
            let seconds = Int(clock.uptime / .seconds(1))
            let window = seconds / 10
            let isAccepted = windows.withLock { windows in
                guard windows.accepted[window, default: 0] < burst else {
                    windows.refused[window, default: 0] += 1
                    return false
                }
                windows.accepted[window, default: 0] += 1
                return true
            }
            let rest = 10 * (window + 1) - seconds
            return isAccepted ? .json(goodsJSON([])) : .status(429, headers: ["Retry-After": "\(rest)"])
        }
        return (transport, { windows.withLock(\.refused) })
    }

    /// Returns a refusal that has arrived before the load is cancelled.
    private final class LateTransport: HTTPTransport {
        let (gate, arrived) = (Latch(), Latch())

        func send(
            _ request: HTTPRequest,
            progress: TransferProgress.Handler?
        ) async throws(TransportError) -> HTTPResponse {
            guard request.url.path.hasSuffix("/late") else { return .json(goodsJSON([])) }
            arrived.open()
            await gate.waitIgnoringCancellation()
            return .status(429, headers: ["Retry-After": "30"])
        }
    }

    private func proxy(_ transport: any HTTPTransport, width: Int = 64, policy: RetryPolicy? = nil) -> APIProxy {
        var patient = RetryPolicy()
        (patient.maxRetries, patient.minRetriesPerMinute) = (10, 1_000)
        let service = APIService.sample { $0.retryPolicy = policy ?? patient }
        let limits = QueueLimits(perHost: width)
        return APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
    }

    private func load(_ count: Int, _ proxy: APIProxy, shares: Bool = false) -> [GoodsRequest] {
        (0..<count).map { number in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.path, request.method) = ("/\(number)", shares ? .get : .post)
            request.ownOptions.coalescesIdentical = shares
            request.loadData()
            return request
        }
    }

    /// Advances the clock to the end of each pause, once the loads that were refused are in the queue again.
    private func skipPauses(of proxy: APIProxy) -> Task<Void, Never> {
        Task { [clock] in
            while !Task.isCancelled {
                await clock.waitForSleepers()
                // One sleeper is the pause.
                await suspend(
                    while: !Task.isCancelled && proxy.queuedCount + clock.sleepers <= proxy.activeRequests.count
                )
                clock.advance(by: .seconds(1))
            }
        }
    }

    @Test(arguments: [(6, 3, 64), (100, 3, 3), (100, 1, 1), (100, 20, 7), (100, 64, 64)], [false, true])
    func `All loads succeed, and none is sent during a pause`(_ limits: (Int, Int, Int), _ shares: Bool) async {
        let (count, burst, width) = limits
        let (transport, refusals) = limited(to: burst)
        let proxy = proxy(transport, width: width)
        let skipping = skipPauses(of: proxy)
        defer { skipping.cancel() }
        let requests = load(count, proxy, shares: shares)
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: count))
        // Only what was under way when the first of a window was refused.
        #expect(refusals().values.allSatisfy { $0 <= width })
        #expect(transport.requests.count == count + refusals().values.reduce(0, +))
    }

    @Test func `Queued loads of a paused host wait, each can be cancelled, and other hosts and services do not wait`()
        async
    {
        let (transport, _) = limited(to: 1)
        let proxy = proxy(transport)
        let refused = load(2, proxy)
        await clock.waitForSleepers()
        await suspend(while: proxy.queuedCount < 1)
        let waiting = load(3, proxy)
        #expect(proxy.queuedCount == 4)
        waiting[1].cancelAllRequests()
        #expect(proxy.queuedCount == 3)
        let elsewhere = GoodsRequest(delegate: screen, proxy: proxy)
        elsewhere.path = "/login"
        elsewhere.customService = .sample { $0.baseURL = URL("http://shop.test/other") }
        elsewhere.loadData()
        #expect(await screen.endings(3).filter { $0 == .success }.count == 2)
        #expect(transport.requests.count == 3)
        for request in refused + waiting { request.cancelAllRequests() }
        #expect(proxy.queuedCount == 0)
    }

    @Test(arguments: [false, true])
    func `A delay that the policy does not allow pauses the host for the longest one`(_ isAdapted: Bool) async {
        let tries = Counter()
        let transport = ScriptedTransport { _ in
            guard tries.next() == 1 else { return .json(goodsJSON([])) }
            return .status(isAdapted ? 403 : 429, headers: ["Retry-After": "3600"])
        }
        let proxy = proxy(transport, policy: RetryPolicy())
        proxy.defaultService?.adapters.response = [
            Adapter { response, _ in if response.status == 403 { response.status = 429 } }
        ]
        let refused = load(1, proxy)
        #expect(await screen.ending() == .failure(.http))
        let waiting = load(2, proxy)
        await clock.waitForSleepers()
        #expect(proxy.queuedCount == 2 && transport.requests.count == 1)
        clock.advance(by: .seconds(60))
        #expect(await screen.endings(2) == [.success, .success])
        withExtendedLifetime(refused + waiting) {}
    }

    @Test(arguments: [false, true])
    func `The pause of one user ends with the session`(_ isSwitch: Bool) async {
        let (transport, _) = limited(to: 1)
        let proxy = proxy(transport)
        let former = load(2, proxy)
        await clock.waitForSleepers()
        await suspend(while: proxy.queuedCount < 1)
        #expect(await screen.ending() == .success)
        if isSwitch { proxy.switchAccount(to: CookieJar()) } else { proxy.logout() }
        #expect(await screen.ending() == .cancelled)
        let next = load(1, proxy)
        await suspend(while: transport.requests.count < 3)
        for request in former + next { request.cancelAllRequests() }
    }

    @Test(.hangLimit, arguments: [false, true])
    func `What one user is refused after the end of the session pauses no other`(_ shares: Bool) async throws {
        let transport = LateTransport()
        let proxy = proxy(transport)
        let former = GoodsRequest(delegate: screen, proxy: proxy)
        (former.path, former.ownOptions.coalescesIdentical) = ("/late", shares)
        former.loadData()
        try await transport.arrived.wait()
        if shares { proxy.switchAccount(to: CookieJar()) } else { proxy.logout() }
        #expect(await screen.ending() == .cancelled)
        transport.gate.open()
        for _ in 0..<20 {
            let next = load(1, proxy)
            #expect(await screen.ending() == .success)
            withExtendedLifetime(next) {}
        }
        #expect(clock.sleepers == 0)
    }

    @Test func `A load without retries pauses no other`() async {
        let (transport, _) = limited(to: 0)
        let requests = load(3, proxy(transport, width: 1, policy: .never))
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.http), count: 3))
        #expect(transport.requests.count == 3)
        #expect(clock.sleepers == 0)
    }
}
