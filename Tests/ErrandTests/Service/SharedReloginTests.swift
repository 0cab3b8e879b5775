import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Exchanges that loads may share are not sent with an expired login", .hangLimit, .timeLimit(.minutes(10)))
struct SharedReloginTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    /// Begins loads that may share exchanges, but have different ones.
    private func loads(_ count: Int, _ proxy: APIProxy) -> [GoodsRequest] {
        (0..<count).map { number in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.path, request.method, request.ownOptions.coalescesIdentical) = ("/\(number)", .get, true)
            request.loadData()
            return request
        }
    }

    /// Refuses the first token; `wait` is called before each refusal, with its number.
    private func transport(
        _ refusals: Counter,
        _ wait: @escaping @Sendable (Int) async throws -> Void
    ) -> ScriptedTransport {
        ScriptedTransport { request in
            guard request.headers["X-Token"] == "t0" else { return .json(goodsJSON([])) }
            try await wait(refusals.next())
            return .status(401)
        }
    }

    @Test(.fault(150)) func `What queues while another load is refused is sent with the new login alone`() async {
        let (gate, refusals, events) = (Latch(), Counter(), EventRecorder())
        let transport = transport(refusals) { _ in try await gate.wait() }
        let proxy = proxy(transport, limits: QueueLimits(perHost: 1))
        proxy.monitors = [events]
        var requests = [load(proxy, "/first")]
        await transport.waitForRequests()
        requests += loads(8, proxy)
        await suspend(while: proxy.queuedCount < 8)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 9))
        #expect(refusals.count == 1)
        #expect(account.logins == 1 && account.expiries == 0)
        #expect(transport.requests.count == 10)
        #expect(events.violations == [])
    }

    @Test(.fault(150)) func `Of many that queue, at most one is sent before the refusal of the first is read`() async {
        let (hasBegun, isRenewing, refusals) = (Latch(), Latch(), Counter())
        // The response to a second request comes when the first refusal has been read.
        account.login = { isRenewing.open() }
        let transport = transport(refusals) { try await ($0 == 1 ? hasBegun : isRenewing).wait() }
        let proxy = proxy(transport, limits: QueueLimits(perHost: 1))
        let requests = loads(8, proxy)
        await suspend(while: proxy.queuedCount < 7)
        hasBegun.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 8))
        #expect(refusals.count <= 2)
        #expect(account.logins == 1 && account.expiries == 0)
        #expect(transport.requests.count == 8 + refusals.count)
    }

    @Test(.fault(150)) func `While the relogin of a load that shares exchanges runs, the others stay in the queue`()
        async
    {
        let (isSlow, isRefused, isRenewed) = (Latch(), Latch(), Latch())
        account.gate = isRenewed
        let transport = ScriptedTransport { request in
            if request.url.lastPathComponent == "slow" {
                try await isSlow.wait()
            } else if request.headers["X-Token"] == "t0" {
                // Only the load that shares an exchange begins the relogin.
                let opens = request.url.lastPathComponent == "0"
                try await (opens ? isRefused : isRenewed).wait()
                if opens { return .status(401) }
            }
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport, limits: QueueLimits(perHost: 2))
        let (slow, sharing) = (load(proxy, "/slow"), loads(1, proxy))
        await transport.waitForRequests(2)
        let waiting = (1...20).map { load(proxy, "/goods/\($0)") }
        isRefused.open()
        await suspend(while: account.logins == 0)
        isSlow.open()
        #expect(await screen.endings(of: [slow]) == [.success])
        // As long as it would take all of them to leave the queue.
        for _ in 0..<500 { await Task.yield() }
        // One has begun between the refusal and the relogin.
        #expect(proxy.queuedCount == 19)
        isRenewed.open()
        #expect(await screen.endings(of: sharing + waiting) == Array(repeating: .success, count: 21))
        #expect(account.logins == 1)
    }
}
