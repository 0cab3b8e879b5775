import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "One relogin for all loads that need it, one replay for each",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct ReloginTests {
    let screen = Screen(params: ["n": 1])
    let account = Account()

    private func proxy(_ transport: ScriptedTransport, reloginTimeout: Duration = .seconds(60)) -> APIProxy {
        APIProxy(
            fake: transport,
            service: .sample { [account] in
                $0.reloginHandler = account
                $0.commonHeaders = { ["X-Token": account.token] }
                $0.reloginTimeout = reloginTimeout
            }
        )
    }

    /// Refuses every token but `valid`.
    private func transport(_ refusal: LoginExpiryFormat, valid: String = "t1") -> ScriptedTransport {
        ScriptedTransport { $0.headers["X-Token"] == valid ? .json(goodsJSON([])) : refusal.response }
    }

    @Test func `A POST that was executed before a redirect is not sent again after a relogin`() async {
        let transport = ScriptedTransport { request in
            request.method == .post ? .status(303, headers: ["Location": "/orders/7"]) : .status(401)
        }
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy(transport))
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(transport.requests.map(\.method) == [.post, .get])
        #expect(account.logins == 0)
        request.ownOptions.idempotencyKey = { "key" }
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(transport.requests.map(\.method) == [.post, .get, .post, .get, .post, .get])
        #expect(account.logins == 1)
    }

    @Test func `A 401 of another origin, to which a redirect leads, does not renew the login`() async {
        let transport = ScriptedTransport { request in
            guard request.url.host == "shop.test" else { return .status(401) }
            return .status(302, headers: ["Location": "http://cdn.test/a"])
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy(transport))
        request.method = .get
        for _ in 0..<7 {
            request.loadData()
            #expect(await screen.ending() == .failure(.loginExpired))
        }
        #expect(account.logins == 0 && account.expiries == 0)
        #expect(transport.requests.count == 14)
    }

    @Test(.fault(46), arguments: LoginExpiryFormat.allCases)
    func `Many expired loads share one relogin, and each is sent once more`(_ refusal: LoginExpiryFormat) async {
        let transport = transport(refusal)
        let proxy = proxy(transport)
        let requests = (0..<20).map { _ in GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy) }
        for request in requests { request.loadData() }
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 20))
        #expect(account.logins == 1)
        #expect(account.expiries == 0)
        #expect(transport.requests.count <= 40)
        #expect(transport.requests.allSatisfy { $0.body == transport.requests[0].body })
        #expect(transport.requests.filter { $0.headers["X-Token"] == "t1" }.count == 20)
    }

    @Test(.fault(38), .fault(46), arguments: LoginExpiryFormat.allCases)
    func `When relogin fails each waiter fails once, and the next load may try again`(_ refusal: LoginExpiryFormat)
        async
    {
        let proxy = proxy(transport(refusal, valid: "t2"))
        account.fails = true
        let gate = Latch()
        account.gate = gate
        let requests = (0..<5).map { _ in GoodsRequest(delegate: screen, proxy: proxy) }
        for request in requests { request.loadData() }
        // A load that is sent after the failure may try again; here all loads must fail with it.
        await suspend(while: proxy.defaultService?.login.waiterCount != 5)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.loginExpired), count: 5))
        #expect(account.logins == 1)
        #expect(account.expiries == 1)
        #expect(screen.errors.allSatisfy { $0.underlying is Account.WrongPassword })
        // Loads that began during the relogin were never sent, and have no response.
        // A loop, because `filter` and `allSatisfy` crash the optimizer of Swift 6.3.1 (CopyPropagation).
        for error in screen.errors where error.response != nil {
            #expect(error.status == refusal.response.status)
            #expect(refusal == .status || error.message == "expired" && error.code == 11010)
        }
        #expect(screen.errors.contains { $0.response != nil })
        account.fails = false
        requests[0].loadData()
        #expect(await screen.endings(of: [requests[0]]) == [.success])
        #expect(account.logins == 2)
    }

    @Test(.fault(39), .fault(46), arguments: LoginExpiryFormat.allCases)
    func `A replay that is refused again ends as loginExpired`(_ refusal: LoginExpiryFormat) async {
        let transport = transport(refusal, valid: "never")
        let request = GoodsRequest(delegate: screen, proxy: proxy(transport))
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.logins == 1)
        #expect(transport.requests.count == 2)
    }

    @Test(.fault(40)) func `A late refusal of the old login is replayed without another relogin`() async {
        let gate = Latch()
        let slow = ScriptedTransport { request throws(TransportError) in
            if request.url.path.hasSuffix("late"), request.headers["X-Token"] == "t0" { try await gate.wait() }
            return request.headers["X-Token"] == "t1" ? .json(goodsJSON([])) : .json("{}", status: 401)
        }
        let proxy = proxy(slow)
        let late = GoodsRequest(delegate: screen, proxy: proxy)
        late.path = "/late"
        late.loadData()
        await suspend(while: slow.requests.isEmpty)
        GoodsRequest(delegate: screen, proxy: proxy).loadRetainingSelf()
        #expect(await screen.ending() == .success)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1)
    }

    @Test func `A load that begins during a relogin waits for it`() async {
        let gate = Latch()
        account.gate = gate
        let transport = transport(.status)
        let proxy = proxy(transport)
        let first = GoodsRequest(delegate: screen, proxy: proxy)
        first.loadData()
        await suspend(while: account.logins == 0)
        let second = GoodsRequest(delegate: screen, proxy: proxy)
        second.loadData()
        await sentinel(proxy)
        #expect(transport.requests.count == 1)
        gate.open()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(transport.requests.count == 3)
    }

    @Test(.fault(44)) func `A waiter that is cancelled ends at once and is not sent again`() async {
        let gate = Latch()
        account.gate = gate
        let transport = transport(.status)
        let proxy = proxy(transport)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        await suspend(while: account.logins == 0)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        await sentinel(proxy)
        #expect(transport.requests.count == 1)
    }

    @Test func `A load that is cancelled while it is refused starts no relogin`() async {
        let gate = Latch()
        let proxy = proxy(
            ScriptedTransport { _ in
                await gate.waitIgnoringCancellation()
                return .status(401)
            }
        )
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        await suspend(while: proxy.loads.tasks.isEmpty)
        let task = proxy.loads.tasks.first
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        await task?.value
        #expect(proxy.defaultService?.login.currentGeneration == 0, "none runs, and none has ended")
        #expect(account.logins == 0)
        #expect(!request.isLoading)
    }

    @Test(.fault(42), .blocksThread)
    func `A relogin that has not called its handler when the session ends does not call it`()
        async
    {
        let proxy = proxy(transport(.status))
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        // Without a yield, because the handler waits for the main actor.
        spin(while: proxy.defaultService?.login.waiterCount != 1)
        proxy.logout()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(account.logins == 0)
        #expect(!request.isLoading)
    }

    @Test func `A load of low priority does not lower the priority of relogin and callbacks`() async {
        var priorities: [TaskPriority] = []
        account.login = { priorities.append(Task.currentPriority) }
        screen.onEvent = { _, _ in priorities.append(Task.currentPriority) }
        let proxy = proxy(transport(.status))
        let begun = Task(priority: .background) {
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.loadData()
            return request
        }
        // Does not wait for the task itself, because that would raise its priority.
        #expect(await screen.ending() == .success)
        #expect(priorities == [.userInitiated, .userInitiated])
        #expect(await !begun.value.isLoading)
    }

    @Test func `A login request neither waits for a relogin nor starts one`() async {
        let transport = transport(.status)
        let proxy = proxy(transport)
        account.login = {
            let request = GoodsRequest(proxy: proxy)
            request.customLogin = true
            request.customHeaders = ["X-Token": "t1"]
            _ = try await request.value()
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .success)
        let login = GoodsRequest(delegate: screen, proxy: proxy)
        login.customLogin = true
        login.customHeaders = ["X-Token": "wrong"]
        login.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(account.logins == 1)
    }

    @Test func `A handler that never returns fails its waiters at its deadline`() async {
        account.gate = Latch()
        let proxy = proxy(transport(.status), reloginTimeout: .milliseconds(50))
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(account.expiries == 1)
        #expect(request.error?.reason?.contains("too long") == true)
    }

    @Test func `Without a handler an expired login is an error like any other`() async {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport(.code)))
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(request.error?.message == "expired")
    }
}
