import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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

    private func proxy(_ transport: ScriptedTransport, width: Int = 64, policy: RetryPolicy? = nil) -> APIProxy {
        var patient = RetryPolicy()
        (patient.maxRetries, patient.minRetriesPerMinute) = (10, 1_000)
        let service = APIService.sample { $0.retryPolicy = policy ?? patient }
        let limits = QueueLimits(perHost: width)
        return APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
    }

    private func load(_ count: Int, _ proxy: APIProxy, method: HTTPMethod = .post) -> [GoodsRequest] {
        (0..<count).map { number in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.path, request.method) = ("/\(number)", method)
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

    @Test(arguments: [(6, 3, 64), (100, 3, 3), (100, 1, 1), (100, 20, 7), (100, 64, 64)])
    func `All loads succeed, and none is sent during a pause`(_ count: Int, _ burst: Int, _ width: Int) async {
        let (transport, refusals) = limited(to: burst)
        let proxy = proxy(transport, width: width)
        let skipping = skipPauses(of: proxy)
        defer { skipping.cancel() }
        let requests = load(count, proxy)
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

    @Test func `A load without retries pauses no other`() async {
        let (transport, _) = limited(to: 0)
        let requests = load(3, proxy(transport, width: 1, policy: .never))
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.http), count: 3))
        #expect(transport.requests.count == 3)
        #expect(clock.sleepers == 0)
    }
}
