import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Each load has one ending, whatever happens to it", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct MonitorRaceTests {
    @Test(.fault(134)) func `Random lives have events in a legal order and one ending each`() async throws {
        let recorder = EventRecorder(keepsEvents: false)
        let count = rounds(8_000, slow: 100_000)
        var (begun, logins) = (0, 0)
        for _ in 0..<(count / RandomLives.batch) {
            // A new one each time, because too many logins of one session fail.
            let lives = RandomLives([recorder])
            await lives.run()
            (begun, logins) = (begun + lives.begun, logins + lives.logins)
            #expect(lives.proxy.activeRequests.isEmpty)
        }
        try await until { recorder.ended >= begun }
        #expect(recorder.violations.isEmpty, "\(recorder.violations.prefix(10))")
        #expect(recorder.ids.count == begun && recorder.ended == begun)
        #expect(begun == count && logins > 0 && recorder.count > 4 * count)
    }

    @Test(.fault(133)) func `A monitor that cancels its load inside any event neither blocks nor changes the order`()
        async throws
    {
        for step in ["began", "queued", "started", "joined", "made", "responded", "waiting", "again"] {
            let holder = Lock<APIProxy?>(nil)
            let recorder = EventRecorder { event in
                if event.kind.step.hasPrefix(step) { holder.withLock { $0 }?.cancelRequest(event.id) }
            }
            let lives = RandomLives([recorder])
            holder.withLock { $0 = lives.proxy }
            await lives.run()
            holder.withLock { $0 = nil }
            try await until { recorder.ended >= lives.begun }
            #expect(recorder.violations.isEmpty, "\(step): \(recorder.violations.prefix(3))")
            #expect(recorder.ended == lives.begun, "\(step)")
        }
    }

    @Test(.fault(133)) func `A monitor that begins loads and plain calls observes them as well`() async {
        let holder = Lock<APIProxy?>(nil)
        let calls = Counter()
        let recorder = EventRecorder { event in
            guard case .ended = event.kind, calls.next() <= 100, let proxy = holder.withLock({ $0 }) else { return }
            Task { try? await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain"))) }
            proxy.monitors = proxy.monitors
        }
        let lives = RandomLives([recorder])
        holder.withLock { $0 = lives.proxy }
        await lives.run()
        await suspend(while: recorder.ended < lives.begun + 100 || !lives.proxy.activeRequests.isEmpty)
        holder.withLock { $0 = nil }
        #expect(recorder.violations.isEmpty, "\(recorder.violations.prefix(3))")
    }

    @Test(.fault(133), .blocksThread) func `A monitor that blocks delays its load's later events, and no load`()
        async throws
    {
        let point = Checkpoint()
        let recorder = EventRecorder { event in
            if case .requestMade = event.kind, event.path == "/slow" { point.pass() }
        }
        let screen = Screen()
        let proxy = APIProxy(
            service: .sample(),
            transport: ScriptedTransport { _ in .json(goodsJSON([])) },
            monitors: [recorder]
        )
        let (slow, fast) = (GoodsRequest(delegate: screen, proxy: proxy), GoodsRequest(delegate: screen, proxy: proxy))
        slow.path = "/slow"
        let id = slow.loadData()
        try await until { point.isReached }
        fast.loadData()
        #expect(await screen.ending() == .success)
        #expect(proxy.cancelRequest(id))
        #expect(await screen.ending() == .cancelled)
        #expect(recorder.steps(of: id) == ["began", "started", "made"])
        point.release()
        try await until { recorder.ended == 2 }
        #expect(recorder.steps(of: id) == ["began", "started", "made", "cancelled"])
        #expect(recorder.violations.isEmpty)
        withExtendedLifetime((slow, fast)) {}
    }

    @Test func `A load that joins an exchange starts before it receives the exchange's events`() async throws {
        let sent = Lock<(@Sendable () -> Void)?>(nil)
        let recorder = EventRecorder { event in
            if case .joined = event.kind { sent.withLock { $0 }?() }
        }
        let gate = Latch()
        let transport = ScriptedTransport { request in
            let observer = request.observer
            sent.withLock { $0 = { observer?(.sent) } }
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let screen = Screen()
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: [recorder])
        let requests = (0..<2).map { _ in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.method, request.ownOptions.coalescesIdentical) = (.get, true)
            return request
        }
        requests[0].loadData()
        try await until { sent.withLock { $0 != nil } }
        let second = requests[1].loadData()
        try await until { recorder.steps(of: second).contains("sent") }
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
        #expect(recorder.steps(of: second) == ["began", "joined", "started", "sent", "responded 200", "success"])
        #expect(recorder.violations.isEmpty)
    }
}

/// Loads that succeed, fail, are sent again, cancelled from other threads and released, at random.
@MainActor private final class RandomLives {
    static let batch = 500

    let proxy: APIProxy
    private let account = Account()
    private let transport: ScriptedTransport
    private let screen = Screen()
    private(set) var begun = 0
    var logins: Int { account.logins }

    init(_ monitors: [any APIMonitor]) {
        transport = ScriptedTransport(keepsRequests: false) { try await Self.response($0) }
        let limits = QueueLimits(perHost: 100, total: 100)
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.retryPolicy = RetryPolicy()
            ($0.retryPolicy.budget, $0.retryPolicy.minRetriesPerMinute) = (1, 1_000_000)
            ($0.retryPolicy.baseDelay, $0.retryPolicy.maxDelay) = (.microseconds(10), .microseconds(100))
            $0.adapters.response = [
                Adapter { _, _ in if Int.random(in: 0..<50) == 0 { throw AdapterRetry.again() } }
            ]
        }
        proxy = APIProxy(service: service, transport: transport, queueLimits: limits, monitors: monitors)
    }

    private nonisolated static func response(_ request: HTTPRequest) async throws -> HTTPResponse {
        for _ in 0..<Int.random(in: 0...4) { await Task.yield() }
        request.observer?(.sent)
        switch Int.random(in: 0..<40) {
        case 0..<3: throw TransportError(.connectionLost, "lost")
        case 3..<5: return .status(503)
        case 5: return .status(401)
        case 6..<9: return .status(302, headers: ["Location": "/moved"])
        case 9..<11: return .json(#"{"errcode":7,"msg":"no"}"#)
        default: break
        }
        request.observer?(.head(status: 200, headers: [:]))
        return .json(goodsJSON([]))
    }

    /// Runs one batch until all of its loads have ended.
    func run() async {
        var requests = (0..<Self.batch).map(request)
        let loads = requests.map { $0.loadData() }
        begun += loads.count
        let cancelling = (0..<2).map { _ in
            let ids = loads.shuffled().prefix(Self.batch / 8)
            return Task.detached { [proxy] in
                for id in ids {
                    if Int.random(in: 0..<4) == 0 { await Task.yield() }
                    proxy.cancelRequest(id)
                }
            }
        }
        await Task.yield()
        requests.removeLast(Self.batch / 10)
        if Int.random(in: 0..<4) == 0 { proxy.logout() }
        for task in cancelling { await task.value }
        await suspend(while: !proxy.activeRequests.isEmpty)
        withExtendedLifetime(requests) {}
    }

    private func request(_ number: Int) -> GoodsRequest {
        let request = GoodsRequest(proxy: proxy)
        request.method = .get
        request.path = "/goods/\(number % 40)"
        request.ownOptions.coalescesIdentical = number.isMultiple(of: 3)
        request.ownOptions.priority = RequestPriority.allCases[number % 3]
        return request
    }
}
