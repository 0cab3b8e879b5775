import ErrandTesting
import Foundation
import Testing
import TestSupport

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

    private func proxy(_ transport: ScriptedTransport, clock: any APIClock = SystemClock()) -> APIProxy {
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        return APIProxy(service: service, transport: transport, clock: clock)
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

    @Test func `A 401 of the origin that an adapter has chosen renews the login`() async {
        let transport = transport(.status)
        let proxy = proxy(transport)
        proxy.defaultService?.adapters.request = [
            Adapter { request, _ in request.url = URL(string: "http://gateway.test/goods")! }
        ]
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1)
        #expect(transport.requests.map(\.url.host) == ["gateway.test", "gateway.test"])
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
            #expect(await screen.ending() == .failure(.http))
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

    @Test func `A logout cancels a relogin from its first step on`() async {
        var late = 0
        for _ in 0..<50 {
            // No token is valid: a login that ends late would else let the next load succeed without one.
            let (proxy, signOuts) = (proxy(transport(.status, valid: "none")), Counter())
            account.login = {
                Task {
                    proxy.logout()
                    _ = signOuts.next()
                }
                await Task.yield()
                if signOuts.count > 0, !Task.isCancelled { late += 1 }
            }
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.loadData()
            _ = await screen.ending()
            await suspend(while: signOuts.count == 0)
        }
        #expect(late == 0, "its handler would store the login of the former account")
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

    @Test func `A handler that never returns fails its waiters at its deadline, and is cancelled`() async {
        let isCancelled = Lock(false)
        account.login = {
            do { try await Latch().wait() } catch { isCancelled.withLock { $0 = true } }
        }
        let clock = ManualClock()
        let request = GoodsRequest(delegate: screen, proxy: proxy(transport(.status), clock: clock))
        request.loadData()
        await suspend(while: account.logins == 0)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(await screen.ending() == .failure(.timeout))
        #expect(account.expiries == 0)
        #expect(request.error?.reason?.contains("too long") == true)
        await suspend(while: !isCancelled.withLock(\.self))
    }

    @Test(arguments: [false, true])
    func `Cancelling all loads leaves a relogin, whose server may have replaced the token already`(
        _ hasOwnService: Bool
    ) async {
        let (arrived, latch) = (Latch(), Latch())
        let transport = ScriptedTransport { request in
            guard request.url.path.hasSuffix("/token") else {
                return request.headers["X-Token"] == "t1" ? .json(goodsJSON([])) : .status(401)
            }
            arrived.open()
            try await latch.wait()
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport)
        account.login = {
            let request = GoodsRequest(proxy: proxy)
            request.path = "/token"
            if hasOwnService { request.customService = .sample { $0.baseURL = URL("http://accounts.test") } }
            _ = try await request.value()
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try? await arrived.wait()
        proxy.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        latch.open()
        await suspend(while: account.token != "t1" || !proxy.activeRequests.isEmpty)
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1 && account.expiries == 0)
    }

    @Test func `Without a handler an expired login is an error like any other`() async {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport(.code)))
        request.loadData()
        #expect(await screen.ending() == .failure(.loginExpired))
        #expect(request.error?.message == "expired")
    }
}

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

    @Test func `A relogin that failed while a load waited for its next try does not end that load`() async {
        account.fails = true
        let tries = Counter()
        let transport = ScriptedTransport { request in
            guard request.url.path.hasSuffix("busy") else { return .status(401) }
            return tries.next() == 1 ? .status(503) : .json(goodsJSON([]))
        }
        let proxy = proxy(transport)
        let busy = load(proxy, "/busy")
        await clock.waitForSleepers()
        let expired = load(proxy)
        #expect(await screen.ending() == .failure(.loginExpired))
        clock.advance(by: .seconds(60))
        #expect(await screen.ending() == .success)
        withExtendedLifetime((busy, expired)) {}
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
        #expect(await screen.ending() == (endsByLogout ? .cancelled : .failure(.timeout)))
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
            #expect(await screen.ending() == .failure(.timeout))
            if round > 1 { #expect(requests[round - 1].error?.reason?.contains("has not returned") == true) }
            requests.append(load(proxy))
            await waiters(1, proxy)
        }
        #expect(account.logins == 1)
        #expect(account.expiries == 0)
        clock.advance(by: .seconds(60))
        #expect(await screen.ending() == .failure(.timeout))
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
