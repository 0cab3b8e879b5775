import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("A handler is in one relogin at a time, even if it ignores its cancel", .hangLimit, .timeLimit(.minutes(10)))
struct ReloginOverlapTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()
    private let calls = Calls()

    /// The calls of a handler that returns when the test releases it, even when its task is cancelled.
    @MainActor private final class Calls {
        private(set) var open: [Latch] = []
        private(set) var most = 0

        func run() async {
            let latch = Latch()
            open.append(latch)
            most = max(most, open.count)
            await latch.waitIgnoringCancellation()
            open.removeAll { $0 === latch }
        }

        func endAll() { for latch in open { latch.open() } }
    }

    private func proxy(accepting valid: String? = nil) -> APIProxy {
        account.login = { [calls] in await calls.run() }
        return proxy(refusing(but: valid))
    }

    private func waiters(_ count: Int, _ proxy: APIProxy) async {
        await suspend(while: proxy.defaultService?.login.waiterCount != count)
        await clock.waitForSleepers()
    }

    @Test(.fault(41), arguments: [false, true])
    func `The next call begins when the first has returned, and its credentials replace the first ones`(
        _ endsByLogout: Bool
    ) async {
        let proxy = proxy(accepting: "t2")
        let first = load(proxy)
        await waiters(1, proxy)
        await suspend(while: account.logins == 0)
        if endsByLogout { proxy.logout() } else { clock.advance(by: .seconds(60)) }
        #expect(await screen.ending() == (endsByLogout ? .cancelled : .failure(.loginExpired)))
        let second = load(proxy)
        await waiters(1, proxy)
        await sentinel(proxy)
        #expect(account.logins == 1, "the first has not returned")
        calls.endAll()
        await suspend(while: account.logins == 1)
        #expect(account.token == "t1", "what came late is there before the second begins")
        calls.endAll()
        #expect(await screen.ending() == .success)
        #expect(account.token == "t2")
        #expect(calls.most == 1)
        #expect(!first.isLoading && !second.isLoading)
    }

    @Test(.fault(41)) func `After one that never returns, all loads end at their relogin's deadline`() async {
        let proxy = proxy()
        var requests = [load(proxy)]
        await waiters(1, proxy)
        await suspend(while: account.logins == 0)
        for round in 1...3 {
            clock.advance(by: .seconds(60))
            #expect(await screen.ending() == .failure(.loginExpired))
            if round > 1 { #expect(requests[round - 1].error?.reason?.contains("has not returned") == true) }
            requests.append(load(proxy))
            await waiters(1, proxy)
        }
        #expect(account.logins == 1)
        #expect(account.expiries == 1)
        clock.advance(by: .seconds(60))
        #expect(await screen.ending() == .failure(.loginExpired))
        calls.endAll()
    }

    @Test(.fault(41), arguments: 1...20 as ClosedRange<UInt64>)
    func `For any sequence of events, no two calls overlap and every load ends once`(_ seed: UInt64) async {
        var random = SplitMix(seed: seed)
        let proxy = proxy()
        var requests: [GoodsRequest] = []
        for _ in 0..<60 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0...2: requests.append(load(proxy))
            case 3: clock.advance(by: .seconds(.random(in: 1...90, using: &random)))
            case 4: calls.endAll()
            default: proxy.logout()
            }
            for _ in 0..<Int.random(in: 0..<40, using: &random) { await Task.yield() }
        }
        await suspend(while: requests.contains(where: \.isLoading)) { clock.advance(by: .seconds(60)) }
        await sentinel(proxy)
        #expect(screen.events.count == requests.count)
        #expect(calls.most <= 1)
        #expect(proxy.defaultService?.login.waiterCount == 0)
        calls.endAll()
    }
}
