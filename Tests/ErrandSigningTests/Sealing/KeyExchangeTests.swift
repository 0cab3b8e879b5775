import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

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
        for (thrown, expected) in [(APIErrorType.noNetwork, APIErrorType.noNetwork), (.server, .security)] {
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
        #expect((2...10).contains(scene.exchange.calls))
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
