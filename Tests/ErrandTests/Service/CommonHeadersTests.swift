import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Common headers and parameters may wait for an actor", .hangLimit, .timeLimit(.minutes(10)))
struct CommonHeadersTests {
    /// A token that only the main actor reads.
    @MainActor private final class Store: ReloginHandler {
        var token = "t0"

        func relogin() async throws { token = "t1" }
    }

    private struct Locked: Error {}

    private let screen = Screen()

    private func request(_ transport: ScriptedTransport, _ service: APIService) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.method = .get
        return request
    }

    @Test func `A token of the main actor is read at the first send, at a retry and after a relogin`() async {
        let store = Store()
        let responses = Responses([.status(503), .status(401), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let service = APIService.sample {
            $0.commonHeaders = { [weak store] in ["X-Token": await store?.token] }
            $0.commonParams = { [weak store] in ["token": await store?.token] }
            $0.reloginHandler = store
            $0.retryPolicy = RetryPolicy()
            $0.retryPolicy.baseDelay = .zero
        }
        request(transport, service).loadRetainingSelf()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["X-Token"] } == ["t0", "t0", "t1"])
        #expect(transport.requests.map { $0.url.query } == ["token=t0", "token=t0", "token=t1"])
    }

    @Test(arguments: [false, true], [false, true])
    func `They and adapters may wait for a load of the same host, whose places other loads have`(
        _ isAdapter: Bool,
        _ isPlain: Bool
    ) async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: QueueLimits(perHost: 2))
        let store = Screen()
        let token = { @MainActor @Sendable [weak proxy] () async throws in
            guard let proxy else { throw Locked() }
            if isPlain {
                _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/token")))
            } else {
                let request = GoodsRequest(delegate: store, proxy: proxy)
                (request.method, request.path) = (.get, "/token")
                // As a store does for all that wait for one renewal.
                try await Task { _ = try await request.value() }.value
            }
        }
        let service = APIService.sample {
            if isAdapter {
                $0.adapters.request = [Adapter { _, _ in try await token() }]
            } else {
                $0.commonHeaders = {
                    try await token()
                    return ["X-Token": "t"]
                }
            }
        }
        let requests = (0..<20).map { _ in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.method, request.customService) = (.get, service)
            return request
        }
        for request in requests { request.loadData() }
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 20))
        #expect(transport.requests.count { $0.url.path.hasSuffix("/token") } == 20)
    }

    @Test(arguments: [false, true], [false, true])
    func `A load that they join needs no place in the queue either`(_ isCoalescing: Bool, _ isRetried: Bool) async {
        let tries = Counter()
        let transport = ScriptedTransport {
            isRetried && $0.url.path.hasSuffix("/token") && tries.next() == 1 ? .status(503) : .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: QueueLimits(perHost: 2))
        // Begun elsewhere, when the loads that wait for it have all places.
        let token = GoodsRequest(delegate: Screen(), proxy: proxy)
        (token.method, token.path, token.customRestartPolicy) = (.get, "/token", .ignoreNew)
        token.ownOptions.coalescesIdentical = isCoalescing
        token.ownOptions.retryPolicy = RetryPolicy()
        token.ownOptions.retryPolicy?.baseDelay = .zero
        let begun = Latch()
        let service = APIService.sample {
            $0.commonHeaders = { @MainActor in
                try await begun.wait()
                _ = try await token.value()
                return [:]
            }
        }
        let requests = (0..<4).map { _ in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.method, request.customService) = (.get, service)
            return request
        }
        for request in requests { request.loadData() }
        await suspend(while: proxy.queuedCount < 2)
        token.loadData()
        await suspend(while: proxy.queuedCount < 3)
        begun.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 4))
    }

    /// A load of a token that others join, and one that joins it in its headers when the test says so.
    @MainActor private final class TokenScene {
        let (begun, entered, joins) = (Latch(), Counter(), Counter())
        let clock = ManualClock()
        let transport: ScriptedTransport
        let proxy: APIProxy
        let token: GoodsRequest

        init(_ service: APIService = .sample(), _ script: @escaping ScriptedTransport.Script) {
            transport = ScriptedTransport(fallback: script)
            let limits = QueueLimits(perHost: 1)
            proxy = APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
            token = GoodsRequest(delegate: Screen(), proxy: proxy)
            (token.method, token.path, token.customRestartPolicy) = (.get, "/token", .ignoreNew)
            token.ownOptions.retryPolicy = RetryPolicy()
            token.ownOptions.retryPolicy?.baseDelay = .zero
        }

        /// Takes the only place, and joins the load of the token.
        func item(_ screen: Screen) -> GoodsRequest {
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.method = .get
            request.customService = .sample {
                $0.commonHeaders = { @MainActor [begun, entered, joins, token] in
                    _ = entered.next()
                    try await begun.wait()
                    _ = joins.next()
                    _ = try await token.value()
                    return [:]
                }
            }
            return request
        }

        var sentTokens: Int { transport.requests.count { $0.url.path.hasSuffix("/token") } }
    }

    @Test(arguments: [503, 429])
    func `A load that they join when it queues for its retry needs no place, but waits as long as the server asks`(
        _ status: Int
    ) async {
        let (answer, tries) = (Latch(), Counter())
        let scene = TokenScene { request in
            guard request.url.path.hasSuffix("/token"), tries.next() == 1 else { return .json(goodsJSON([])) }
            try await answer.wait()
            return .status(status, headers: status == 429 ? ["Retry-After": "3"] : [:])
        }
        let item = scene.item(screen)
        scene.token.loadData()
        await scene.transport.waitForRequests()
        item.loadData()
        await suspend(while: scene.proxy.queuedCount < 1)
        answer.open()
        // The item has the place of the token, which waits for another.
        await suspend(while: scene.entered.count < 1)
        if status == 429 {
            await suspend(while: scene.clock.sleepers < 1)
        } else {
            await suspend(while: scene.proxy.queuedCount < 1)
        }
        scene.begun.open()
        if status == 429 {
            await suspend(while: scene.joins.count < 1)
            await sentinel(scene.proxy)
            #expect(scene.sentTokens == 1)
            await suspend(while: scene.clock.sleepers < 1)
            scene.clock.advance(by: .seconds(3))
        }
        #expect(await screen.ending() == .success)
        #expect(scene.sentTokens == 2)
    }

    @Test func `A load that they join needs no place in an exchange that another one has queued`() async {
        let (hold, calls) = (Latch(), Counter())
        let service = APIService.sample {
            $0.commonHeaders = {
                if calls.next() == 1 { try await hold.wait() }
                return [:]
            }
        }
        let scene = TokenScene(service) { _ in .json(goodsJSON([])) }
        scene.token.ownOptions.coalescesIdentical = true
        let (item, other) = (scene.item(screen), GoodsRequest(delegate: Screen(), proxy: scene.proxy))
        (other.method, other.path, other.ownOptions.coalescesIdentical) = (.get, "/token", true)
        scene.token.loadData()
        await suspend(while: calls.count < 1)
        item.loadData()
        await suspend(while: scene.entered.count < 1)
        other.loadData()
        await suspend(while: scene.proxy.queuedCount < 1)
        scene.begun.open()
        await suspend(while: scene.joins.count < 1)
        hold.open()
        #expect(await screen.ending() == .success)
        #expect(scene.sentTokens == 1)
    }

    @Test func `They are not called for a load that is cancelled while it queues for its retry`() async {
        let (answer, held, clock) = (Latch(), Latch(), ManualClock())
        let (calls, holders) = (Counter(), Counter())
        let transport = ScriptedTransport { _ in
            try await answer.wait()
            return .status(503, headers: ["Retry-After": "1"])
        }
        let limits = QueueLimits(perHost: 8)
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: limits, clock: clock)
        func requests(_ change: (inout APIService) -> Void) -> [GoodsRequest] {
            let service = APIService.sample(change)
            return (0..<8).map { _ in
                let request = GoodsRequest(delegate: screen, proxy: proxy)
                (request.method, request.customService) = (.get, service)
                return request
            }
        }
        let retried = requests {
            $0.commonHeaders = {
                _ = calls.next()
                return [:]
            }
            $0.retryPolicy = RetryPolicy()
        }
        let others = requests {
            $0.commonHeaders = {
                _ = holders.next()
                try await held.wait()
                return [:]
            }
        }
        for request in retried { request.loadData() }
        await transport.waitForRequests(8)
        for request in others { request.loadData() }
        await suspend(while: proxy.queuedCount < 8)
        answer.open()
        // The others have all places before the first of them queues again.
        await suspend(while: holders.count < 8 || clock.sleepers < 8)
        clock.advance(by: .seconds(1))
        await suspend(while: proxy.queuedCount < 8)
        proxy.cancelAllRequests()
        #expect(await screen.endings(16).allSatisfy { $0 == .cancelled })
        await suspend(while: proxy.queuedCount > 0)
        await sentinel(proxy)
        #expect(calls.count == 8)
        withExtendedLifetime((retried, others)) {}
    }

    @Test func `A header without a value adds no line`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let service = APIService.sample {
            $0.commonHeaders = { [weak store = Optional<Store>.none] in
                ["X-Token": await store?.token, "X-Client": "a"]
            }
        }
        request(transport, service).loadRetainingSelf()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers.map(\.name) } == [["X-Client"]])
    }

    @Test(arguments: [true, false])
    func `A cancel of the load cancels the task that reads them, and nothing is sent`(_ inHeaders: Bool) async throws {
        let (begun, ended) = (Latch(), Latch())
        let wait = { @Sendable in
            begun.open()
            defer { ended.open() }
            try await Latch().wait()
        }
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let service = APIService.sample {
            if inHeaders {
                $0.commonHeaders = {
                    try await wait()
                    return [:]
                }
            } else {
                $0.commonParams = {
                    try await wait()
                    return nil
                }
            }
        }
        let request = request(transport, service)
        request.loadData()
        try await begun.wait()
        request.cancelAllRequests()
        try await ended.wait()
        #expect(await screen.ending() == .cancelled)
        await sentinel(request.proxy)
        #expect(transport.requests.isEmpty && screen.events == [.cancelled])
    }

    @Test func `Their error is the failure of the load, and nothing is sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let locked = request(transport, .sample { $0.commonHeaders = { throw Locked() } })
        let error = await #expect(throws: APIError.self) { try await locked.value() }
        #expect(error?.type == .invalidRequest && error?.underlying is Locked)
        #expect(error?.reason?.contains("common headers") == true)
        let own = request(transport, .sample { $0.commonParams = { throw APIError(.security, reason: "no key") } })
        #expect(await #expect(throws: APIError.self) { try await own.value() }?.reason == "no key")
        #expect(transport.requests.isEmpty)
    }

    @Test func `A cancellation that they or the adapter throw is a failure of a load that is not cancelled`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let services = [
            APIService.sample { $0.commonHeaders = { throw APIError(.cancelled) } },
            .sample { $0.commonParams = { throw APIError(.cancelled) } },
            .sample { $0.adapters.request = [Adapter { _, _ in throw APIError(.cancelled) }] },
        ]
        for service in services {
            let request = request(transport, service)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .invalidRequest && error?.reason?.contains(" could not ") == true)
            #expect((error?.underlying as? APIError)?.type == .cancelled)
        }
        #expect(transport.requests.isEmpty)
    }
}
