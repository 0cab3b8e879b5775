import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A login is renewed before it expires", .hangLimit, .timeLimit(.minutes(10)))
struct EarlyRenewalTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    /// Accepts every token.
    private let accepting = ScriptedTransport { _ in .json(goodsJSON([])) }

    private func tokens(_ transport: ScriptedTransport) -> [String?] {
        transport.requests.map { $0.headers["X-Token"] }
    }

    private func waitForWaiters(_ count: Int, _ proxy: APIProxy) async {
        await suspend(while: proxy.defaultService?.login.waiterCount != count)
    }

    @Test func `Loads that begin when the date has come share one relogin, and are sent with the new login`() async {
        let (gate, proxy) = (Latch(), proxy(accepting))
        account.loginRenewalDate = clock.date
        account.gate = gate
        account.login = { [account, clock] in account.loginRenewalDate = clock.date.addingTimeInterval(60) }
        let requests = (0..<20).map { _ in load(proxy) }
        await waitForWaiters(20, proxy)
        #expect(accepting.requests.isEmpty)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 20))
        #expect(tokens(accepting) == Array(repeating: "t1", count: 20))
        #expect(account.logins == 1)
        #expect(proxy.defaultService?.login.generation == 1)
    }

    @Test func `A login is used until its date, which is examined again before a retry`() async {
        let responses = Responses([
            .json(goodsJSON([])), .status(503, headers: ["Retry-After": "60"]), .json(goodsJSON([])),
        ])
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport)
        account.loginRenewalDate = clock.date.addingTimeInterval(30)
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        let second = load(proxy)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(await screen.endings(of: [second]) == [.success])
        #expect(tokens(transport) == ["t0", "t0", "t1"])
        #expect(account.logins == 1)
    }

    @Test func `After a renewal that fails the login is used until it is refused`() async {
        let proxy = proxy(accepting)
        account.loginRenewalDate = clock.date
        account.fails = true
        for _ in 0..<3 {
            let requests = (0..<3).map { _ in load(proxy) }
            #expect(await screen.endings(of: requests) == [.success, .success, .success])
        }
        #expect(tokens(accepting) == Array(repeating: "t0", count: 9))
        #expect(account.logins == 1 && account.expiries == 0)
        #expect(proxy.defaultService?.login.generation == 0)
    }

    @Test func `A renewal that is cancelled is one that fails, and is not begun again`() async {
        let proxy = proxy(accepting)
        account.loginRenewalDate = clock.date
        account.login = { throw CancellationError() }
        let requests = (0..<3).map { _ in load(proxy) }
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 3))
        #expect(tokens(accepting) == Array(repeating: "t0", count: 3))
        #expect((account.logins, account.expiries) == (1, 0))
    }

    @Test func `A load that is refused after a renewal that failed starts a relogin`() async {
        let proxy = proxy(refusing(but: "t2"))
        account.loginRenewalDate = clock.date
        account.login = { [account] in account.fails = account.logins == 1 }
        let request = load(proxy)
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(account.logins == 2 && account.expiries == 0)
    }

    @Test(arguments: [true, false])
    func `A load that is refused while a renewal runs makes it a relogin like any other`(_ fails: Bool) async {
        let (sent, gate) = (Latch(), Latch())
        let transport = ScriptedTransport { request in
            guard request.headers["X-Token"] == "t0" else { return .json(goodsJSON([])) }
            try await sent.wait()
            return .status(401)
        }
        let proxy = proxy(transport)
        account.loginRenewalDate = clock.date.addingTimeInterval(10)
        account.gate = gate
        account.fails = fails
        var requests = [load(proxy)]
        await transport.waitForRequests(1)
        clock.advance(by: .seconds(10))
        requests.append(load(proxy))
        await waitForWaiters(1, proxy)
        sent.open()
        await waitForWaiters(2, proxy)
        gate.open()
        let ending = fails ? Screen.Event.failure(.loginExpired) : .success
        #expect(await screen.endings(of: requests) == [ending, ending])
        #expect(account.logins == 1)
        #expect(account.expiries == (fails ? 1 : 0))
        account.setToken("t9")
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 1, "the date starts no second one")
    }

    @Test func `A late refusal of an older login does not make a renewal that fails a failure of its load`() async {
        let (late, gate) = (Latch(), Latch())
        let transport = ScriptedTransport { request in
            guard request.headers["X-Token"] == "t0" else { return .json(goodsJSON([])) }
            if request.url.path.hasSuffix("late") { try await late.wait() }
            return .status(401)
        }
        let proxy = proxy(transport)
        var requests = [load(proxy, "/late")]
        await transport.waitForRequests(1)
        account.login = { [account, clock] in account.loginRenewalDate = clock.date.addingTimeInterval(10) }
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        clock.advance(by: .seconds(10))
        (account.gate, account.fails) = (gate, true)
        requests.append(load(proxy))
        await waitForWaiters(1, proxy)
        late.open()
        await waitForWaiters(2, proxy)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
        #expect(account.logins == 2 && account.expiries == 0)
    }

    @Test func `A date that has passed when the relogin returns starts no other`() async {
        let proxy = proxy(accepting)
        account.loginRenewalDate = .distantPast
        for _ in 0..<3 { #expect(await screen.endings(of: [load(proxy)]) == [.success]) }
        #expect(account.logins == 1)
        account.loginRenewalDate = clock.date.addingTimeInterval(-1)
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 1, "it had passed as well")
        clock.advance(by: .seconds(1))
        account.loginRenewalDate = clock.date
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 2)
    }

    @Test func `After a renewal that failed no date up to its beginning starts another`() async {
        let proxy = proxy(accepting)
        account.fails = true
        for seconds in [-9.0, -5, -1] {
            account.loginRenewalDate = clock.date.addingTimeInterval(seconds)
            #expect(await screen.endings(of: [load(proxy)]) == [.success])
        }
        #expect(account.logins == 1 && account.expiries == 0)
    }

    @Test func `Renewals are not counted as logins that do not help`() async {
        let proxy = proxy(
            ScriptedTransport { $0.headers["X-Token"] == "old" ? .status(401) : .json(goodsJSON([])) }
        )
        for _ in 0..<6 {
            clock.advance(by: .seconds(1))
            account.loginRenewalDate = clock.date
            #expect(await screen.endings(of: [load(proxy)]) == [.success])
        }
        #expect(account.logins == 6)
        account.setToken("old")
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 7 && account.expiries == 0)
    }

    @Test func `A login that the app has renewed meanwhile is not renewed again`() async {
        let proxy = proxy(accepting)
        account.loginRenewalDate = clock.date
        let request = load(proxy)
        account.loginRenewalDate = clock.date.addingTimeInterval(60)
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(account.logins == 0)
        #expect(proxy.defaultService?.login.generation == 0)
    }

    @Test func `A renewal that takes too long lets its loads be sent`() async {
        let (late, proxy) = (Latch(), proxy(accepting))
        account.loginRenewalDate = clock.date
        account.login = { await late.waitIgnoringCancellation() }
        let request = load(proxy)
        await waitForWaiters(1, proxy)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(tokens(accepting) == ["t0"] && account.expiries == 0)
        late.open()
    }

    @Test func `A logout and a cancel end the loads that wait for a renewal`() async {
        let (gate, proxy) = (Latch(), proxy(accepting))
        account.loginRenewalDate = clock.date
        account.gate = gate
        let requests = (0..<3).map { _ in load(proxy) }
        await waitForWaiters(3, proxy)
        requests[0].cancelAllRequests()
        await waitForWaiters(2, proxy)
        proxy.logout()
        #expect(await screen.endings(of: requests) == [.cancelled, .cancelled, .cancelled])
        gate.open()
        account.loginRenewalDate = nil
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.expiries == 0 && accepting.requests.count == 1)
    }

    @Test func `A login request neither waits for a renewal nor starts one`() async {
        let proxy = proxy(accepting)
        account.loginRenewalDate = clock.date
        let login = GoodsRequest(delegate: screen, proxy: proxy)
        login.customLogin = true
        login.loadData()
        #expect(await screen.endings(of: [login]) == [.success])
        #expect(account.logins == 0 && tokens(accepting) == ["t0"])
    }
}
