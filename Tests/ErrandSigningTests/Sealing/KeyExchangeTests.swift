import Errand
import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import ErrandSigning

@Suite(
    "One key exchange for all loads that need it, one replay for each",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct KeyExchangeTests {
    #if DEBUG
    static let many = 1000
    #else
    static let many = 10_000
    #endif

    @Test func `Many loads with an expired key share one exchange, and each is sent once more`() async throws {
        let scene = SealingScene()
        _ = try await scene.send("first")
        scene.server.expireKeys()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        async let failures = scene.failures(Self.many)
        // All have been refused before there is a new key.
        await scene.waitForWaiters(Self.many)
        await gate.open()
        #expect(await failures.count { $0 == nil } == Self.many)
        #expect(scene.exchange.calls == 2)
        #expect(scene.server.refusals <= Self.many)
        #expect(Set(scene.server.bodies).count == Self.many + 1)
        #expect(scene.server.bodies.count == Self.many + 1)
        #expect(scene.transport.requests.count == 1 + scene.server.refusals + Self.many)
    }

    @Test(arguments: [true, false])
    func `An expired key and a wrong clock are both mended within one load`(_ isKeyFirst: Bool) async throws {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 784_111_777 - 3_600))
        let scene = SealingScene(
            clock: clock,
            change: { $0.clearCodes = [40103] },
            service: {
                var signing = ParamSigning(secret: "s3cret", algorithm: .md5, into: .parameter("sign"))
                signing.clockCorrection = .onCodes([40103])
                $0.sign(with: signing)
            }
        )
        _ = try await scene.send("first")
        if isKeyFirst { scene.server.expireKeys() }
        let isFirst = Lock(true)
        scene.server.setChange { [server = scene.server] response in
            guard isFirst.withLock({ Swift.exchange(&$0, with: false) }) else { return }
            if !isKeyFirst { server.expireKeys() }
            response = .json(#"{"errcode":40103}"#, headers: ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"])
        }
        _ = try await scene.send("second")
        #expect(scene.exchange.calls == 2 && scene.transport.requests.count == 4)
    }

    @Test func `Loads that begin during an exchange wait for it, and are sent once`() async throws {
        let scene = SealingScene()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        async let failures = scene.failures(20)
        await scene.waitForWaiters(20)
        #expect(scene.transport.requests.isEmpty)
        await gate.open()
        #expect(await failures.count { $0 == nil } == 20)
        #expect(scene.exchange.calls == 1 && scene.transport.requests.count == 20)
    }

    @Test func `The status of an expired key is one of the list`() async throws {
        let server = SealingServer()
        let exchange = SampleExchange(server)
        let sealing = TrafficSealing(
            cipher: .aesGCM,
            keyExchange: exchange,
            expiredCodes: [],
            expiredStatuses: [419]
        )
        let responses = ScriptedTransport { request in
            guard request.headers["X-Key-ID"] != "k1" else { return .status(419) }
            let query = request.url.query(percentEncoded: true).map { "?\($0)" } ?? ""
            return server.response("GET", request.url.path + query, request.headers, Data())
        }
        guard let url = URL(string: "http://shop.test") else { return }
        var service = APIService(baseURL: url)
        service.seal(with: sealing)
        let proxy = APIProxy(service: service, transport: responses)
        #expect(try await APIRequest<String>("/a", proxy: proxy).value() == "")
        #expect(exchange.calls == 2 && responses.requests.count == 2)
    }

    @Test func `An exchange that fails ends each waiter once with its error`() async throws {
        let scene = SealingScene()
        _ = try await scene.send("first")
        scene.server.expireKeys()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        scene.exchange.fail(with: SampleExchange.Refused())
        async let failures = scene.failures(20)
        await scene.waitForWaiters(20)
        await gate.open()
        #expect(await failures.count { $0 == .security } == 20)
        #expect(scene.exchange.calls == 2)
        let error = try #require(await scene.failure())
        #expect(error.underlying is SampleExchange.Refused)
        #expect(error.reason == "the key exchange has failed: Refused")
        scene.exchange.fail(with: nil)
        #expect(await scene.failure() == nil)
        #expect(scene.exchange.calls == 4)
    }

    @Test func `A network failure of the exchange is one of the load`() async throws {
        let scene = SealingScene()
        for (thrown, expected) in [(APIErrorType.noNetwork, APIErrorType.noNetwork), (.cancelled, .security)] {
            scene.exchange.fail(with: APIError(thrown))
            let error = try #require(await scene.failure())
            #expect(error.type == expected)
            #expect((error.underlying as? APIError)?.type == thrown)
        }
    }

    @Test func `A key that the cipher does not accept is a security error`() async throws {
        let scene = SealingScene()
        for key in [
            SessionKey(id: "k", bytes: Data(count: 5)), SessionKey(id: "", bytes: Data(count: 32)),
            SessionKey(id: "a b", bytes: Data(count: 32)), SessionKey(id: "a\nb", bytes: Data(count: 32)),
        ] {
            scene.exchange.load { key }
            let error = try #require(await scene.failure())
            #expect(error.type == .security && (error.underlying as? SigningError)?.kind == .invalidKey)
        }
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `A late refusal of an older key is replayed without an exchange`() async throws {
        let (gate, isHeld) = (Gate(), Flag())
        let scene = SealingScene()
        let holding = ScriptedTransport { request in
            let response = try await scene.transport.send(request)
            if request.headers["X-Late"] != nil, isHeld.take() { await gate.wait() }
            return response
        }
        let proxy = APIProxy(service: scene.proxy.defaultService, transport: holding)
        _ = try await scene.send("first")
        scene.server.expireKeys()
        async let late = APIRequest<String>("/a", headers: ["X-Late": "1"], proxy: proxy).value()
        await holding.waitForRequests(1)
        await suspend(while: !isHeld.isTaken)
        _ = try await scene.send("second")
        #expect(scene.exchange.calls == 2)
        await gate.open()
        #expect(try await late == "")
        #expect(scene.exchange.calls == 2)
        #expect(holding.requests.map { $0.headers["X-Key-ID"] } == ["k1", "k2"])
    }

    @Test func `A late refusal of an older key has the failure of the exchange in between`() async throws {
        let (gate, isHeld) = (Gate(), Flag())
        let scene = SealingScene()
        let holding = ScriptedTransport { request in
            let response = try await scene.transport.send(request)
            if isHeld.take() { await gate.wait() }
            return response
        }
        let proxy = APIProxy(service: scene.proxy.defaultService, transport: holding)
        _ = try await scene.send("first")
        scene.server.expireKeys()
        let request = await APIRequest<String>("/a", proxy: proxy)
        let late = Task { try await request.value() }
        await suspend(while: !isHeld.isTaken)
        scene.exchange.fail(with: SampleExchange.Refused())
        #expect(await scene.failure()?.type == .security)
        await gate.open()
        let error = await #expect(throws: APIError.self) { try await late.value }
        #expect(error?.type == .security && error?.underlying is SampleExchange.Refused)
        #expect(scene.exchange.calls == 2)
    }

    @Test func `The cancel of one waiter cancels neither the exchange nor the others`() async throws {
        let scene = SealingScene()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        let cancelled = Task { await scene.failure("cancelled") }
        await scene.waitForWaiters(1)
        async let failures = scene.failures(5)
        await scene.waitForWaiters(6)
        cancelled.cancel()
        #expect(await cancelled.value?.type == .cancelled)
        await scene.waitForWaiters(5)
        await gate.open()
        #expect(await failures.count { $0 == nil } == 5)
        #expect(scene.exchange.calls == 1)
        #expect(!scene.server.bodies.contains { $0.contains("cancelled") })
    }

    @Test func `An exchange whose own request is cancelled is repeated for those who wait`() async throws {
        let scene = SealingScene()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        scene.exchange.load { [server = scene.server, isFirst = Lock(true)] in
            if isFirst.withLock({ exchange(&$0, with: false) }) { throw APIError(.cancelled) }
            return server.makeKey()
        }
        async let failures = scene.failures(3)
        await scene.waitForWaiters(3)
        await gate.open()
        #expect(await failures.filter { $0 != nil } == [])
        #expect(scene.exchange.calls == 2)
    }

    @Test func `An exchange whose requests are always cancelled fails its waiters in the end`() async throws {
        let scene = SealingScene()
        scene.exchange.fail(with: CancellationError())
        #expect(await scene.failure()?.type == .security)
        #expect(scene.exchange.calls == 2)
    }

    @Test func `An exchange whose waiters have all been cancelled still has its key used`() async throws {
        let scene = SealingScene()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        let cancelled = Task { await scene.failure() }
        await scene.waitForWaiters(1)
        cancelled.cancel()
        #expect(await cancelled.value?.type == .cancelled)
        await gate.open()
        #expect(await scene.failure() == nil)
        #expect(scene.exchange.calls == 1)
    }
}

@Suite(
    "Key exchanges end, and are shared by all kinds of loads",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct KeyExchangeLimitTests {
    @Test func `A load inside the exchange is not sealed and waits for nothing, even in a full queue`() async throws {
        let scene = SealingScene(limits: QueueLimits(perHost: 1, total: 1))
        scene.exchange.load { [proxy = scene.proxy] in
            struct Response: Decodable, Sendable {
                let id: String
                let key: Data
            }
            let response = try await APIRequest<Response>("/keys", method: .post, params: ["a": 1], proxy: proxy)
                .value()
            return SessionKey(id: response.id, bytes: response.key)
        }
        #expect(await scene.failures(10).count { $0 == nil } == 10)
        scene.server.expireKeys()
        #expect(await scene.failures(10).count { $0 == nil } == 10)
        #expect(scene.exchange.calls == 2)
        let exchanges = scene.transport.requests.filter { $0.url.path.hasSuffix("/keys") }
        #expect(exchanges.count == 2)
        #expect(exchanges.allSatisfy { $0.headers["X-Key-ID"] == nil })
        #expect(exchanges.allSatisfy { $0.headers["Content-Type"] == "application/json" })
        #expect(scene.transport.requests.count { $0.headers["X-Key-ID"] == nil } == 2)
    }

    @Test func `A load of another service inside the exchange does not wait for the loads that wait for it`()
        async throws
    {
        let scene = SealingScene()
        guard let url = URL(string: "http://shop.test/open") else { return }
        let plain = APIService(baseURL: url)
        let opened = ScriptedTransport { _ in .json(#"{"errcode":200,"msg":"ok","data":"x"}"#) }
        let proxy = APIProxy(
            service: scene.proxy.defaultService,
            transport: RoutedTransport(scene.transport, opened),
            queueLimits: QueueLimits(perHost: 2, total: 2)
        )
        scene.exchange.load {
            _ = try await APIRequest<String>("/x", service: plain, proxy: proxy).value()
            return scene.server.makeKey()
        }
        let values = try await withThrowingTaskGroup { group in
            for number in 0..<10 {
                group.addTask {
                    try await APIRequest<String>("/e\(number)", method: .post, params: ["n": number], proxy: proxy)
                        .value()
                }
            }
            return try await group.reduce(into: 0) { count, _ in count += 1 }
        }
        #expect(values == 10)
        #expect(scene.transport.requests.allSatisfy { $0.headers["X-Key-ID"] != nil })
    }

    @Test func `An exchange that takes too long ends its waiters, and its late key is not used`() async throws {
        let clock = ManualClock()
        let scene = SealingScene(clock: clock, change: { $0.exchangeTimeout = .seconds(5) })
        let gate = Gate()
        scene.exchange.wait(at: gate)
        async let failures = scene.failures(3)
        await scene.waitForWaiters(3)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        #expect(await failures.count { $0 == .security } == 3)
        scene.exchange.wait(at: nil)
        _ = try await scene.send("a")
        let used = scene.transport.requests.last?.headers["X-Key-ID"]
        await gate.open()
        _ = try await scene.send("b")
        #expect(scene.transport.requests.last?.headers["X-Key-ID"] == used)
        #expect(scene.exchange.calls == 2)
    }

    @Test func `A key that is always refused ends each load after one replay, and soon without an exchange`()
        async throws
    {
        let clock = ManualClock()
        let scene = SealingScene(clock: clock)
        scene.exchange.load { [server = scene.server] in
            let key = server.makeKey()
            server.expireKeys()
            return key
        }
        for number in 0..<20 {
            let error = try #require(await scene.failure())
            #expect(error.type == .security)
            #expect((error.underlying as? SigningError)?.kind == (number < 5 ? .stale : .keyExchangeFailed))
        }
        #expect(scene.transport.requests.count == 11)
        #expect(scene.exchange.calls == 1 + KeyState.maxExpiries)
        let error = try #require(await scene.failure())
        #expect(error.type == .security && (error.underlying as? SigningError)?.kind == .keyExchangeFailed)
        scene.sealing.forgetKeys()
        #expect((await scene.failure()?.underlying as? SigningError)?.kind == .stale, "what was forgotten is no loop")
        clock.advance(by: .seconds(31))
        let calls = scene.exchange.calls
        scene.exchange.load { [server = scene.server] in server.makeKey() }
        #expect(await scene.failure() == nil)
        #expect(scene.exchange.calls == calls + 1)
    }

    @Test func `A retry is sealed again`() async throws {
        let isFirst = Flag()
        let scene = SealingScene(
            before: { request in
                if request.url.path.hasSuffix("/echo"), isFirst.take() { throw TransportError(.connectionLost, "lost") }
            },
            service: { $0.retryPolicy = RetryPolicy() }
        )
        var options = APIRequestOptions()
        options.idempotencyKey = { "1" }
        _ = try await scene.send("again", options: options)
        #expect(scene.transport.requests.count == 2)
        #expect(scene.transport.requests[0].body != scene.transport.requests[1].body)
    }

    @Test func `Sealed loads share no exchange on the wire, and each opens its response`() async throws {
        let (gate, isHeld) = (Gate(), Flag())
        let scene = SealingScene(before: { request in
            if request.url.path.hasSuffix("/goods"), isHeld.isSet { await gate.wait() }
        })
        _ = try await scene.send("first")
        isHeld.set()
        var options = APIRequestOptions()
        options.coalescesIdentical = true
        let joining = options
        async let values = withThrowingTaskGroup { group in
            for _ in 0..<10 {
                group.addTask { try await APIRequest<String>("/goods", options: joining, proxy: scene.proxy).value() }
            }
            return try await group.reduce(into: 0) { count, _ in count += 1 }
        }
        await suspend(while: scene.proxy.sharedLoadCount < 10)
        await gate.open()
        #expect(try await values == 10)
        #expect(scene.transport.requests.count == 11)
        #expect(Set(scene.transport.requests.map { $0.headers["X-Sealed-Nonce"] }).count == 11)
        scene.server.expireKeys()
        isHeld.take()
        _ = try await APIRequest<String>("/goods", options: joining, proxy: scene.proxy).value()
        #expect(scene.exchange.calls == 2)
    }

    @Test func `Each environment has a key of its own, and forgotten keys are not used`() async throws {
        let scene = SealingScene()
        guard let url = URL(string: "http://staging.test") else { return }
        _ = try await scene.send("a")
        let production = try #require(scene.proxy.defaultService).environment
        scene.proxy.defaultService?.environment = APIEnvironment("staging", baseURL: url)
        _ = try await scene.send("b")
        scene.proxy.defaultService?.environment = production
        _ = try await scene.send("c")
        #expect(scene.transport.requests.map { $0.headers["X-Key-ID"] } == ["k1", "k2", "k1"])
        scene.sealing.forgetKeys()
        _ = try await scene.send("d")
        #expect(scene.transport.requests.last?.headers["X-Key-ID"] == "k3")
    }

    @Test func `Keys that are forgotten during an exchange have the waiters wait for another one`() async throws {
        let scene = SealingScene()
        let gate = Gate()
        scene.exchange.wait(at: gate)
        async let failures = scene.failures(3)
        await scene.waitForWaiters(3)
        // The first exchange has read its gate.
        await suspend(while: scene.exchange.calls < 1)
        scene.exchange.wait(at: nil)
        scene.sealing.forgetKeys()
        #expect(await failures.count { $0 == nil } == 3)
        #expect(scene.exchange.calls == 2)
        await gate.open()
        #expect(Set(scene.transport.requests.map { $0.headers["X-Key-ID"] }).count == 1)
    }
}

@Suite("Waits for session keys are events", .hangLimit, .timeLimit(.minutes(10)))
struct KeyEventTests {
    /// Records waits, renewals and further tries.
    private final class Waits: APIMonitor {
        private let recorded = Lock<[String]>([])

        var steps: [String] { recorded.withLock { $0 } }

        func observe(_ event: APIEvent) {
            switch event.kind {
            case .waiting(let reason, _): recorded.withLock { $0.append("waiting \(reason)") }
            case .renewed(let renewal): recorded.withLock { $0.append("renewed \(renewal)") }
            case .tryingAgain: recorded.withLock { $0.append("again") }
            default: break
            }
        }
    }

    @Test func `A load waits for the first key, and for another one when the server refuses its key`() async throws {
        let waits = Waits()
        let scene = SealingScene()
        scene.proxy.monitors = [waits]
        _ = try await scene.send("first")
        let exchange = ["waiting key", "renewed key"]
        #expect(waits.steps == exchange)
        _ = try await scene.send("second")
        #expect(waits.steps == exchange)
        scene.server.expireKeys()
        _ = try await scene.send("third")
        #expect(waits.steps == exchange + exchange + ["waiting adapter", "again"])
        scene.server.expireKeys()
        scene.exchange.fail(with: SampleExchange.Refused())
        _ = await scene.failure()
        #expect(waits.steps == exchange + exchange + ["waiting adapter", "again", "waiting key"])
    }
}
