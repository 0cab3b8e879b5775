import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandSigning

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
