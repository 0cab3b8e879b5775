import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A session runs one relogin for all loads that need it", .hangLimit, .timeLimit(.minutes(10)))
struct LoginSessionTests {
    let session = LoginSession()
    let account = Account()

    private var service: APIService { .sample { $0.reloginHandler = account } }

    /// Waits for a relogin after `generation` in a task; its value is the type of the error, `nil` after a success.
    private func renew(after generation: Int) -> Task<APIErrorType?, Never> {
        Task { [session, service] in
            do throws(APIError) {
                try await session.renew(.next(), Place(), after: generation, for: service, clock: SystemClock())
                return nil
            } catch {
                return error.type
            }
        }
    }

    private func ready(by clock: any APIClock = SystemClock()) -> Task<Int?, Never> {
        Task { [session, service] in try? await session.ready(.next(), Place(), for: service, clock: clock) }
    }

    @Test func `A login has helped although a sign-in has followed before the load was sent`() {
        var limit = LoginLimit()
        for number in 1...8 {
            let isAllowed = limit.addStart(at: .zero, for: 2 * number)
            #expect(isAllowed)
            limit.newestDidEnd(with: .success(()))
            limit.update(2 * number + 1) { $0.hasHelped = true }
        }
    }

    /// When the load of a relogin ends that has not been sent with the new login.
    enum EarlyEnding: CaseIterable {
        case beforeStart, beforeOutcome, afterwards
    }

    @Test(arguments: EarlyEnding.allCases)
    func `A login that no load has tried counts as no failure`(_ ending: EarlyEnding) {
        var limit = LoginLimit()
        for generation in 1...8 {
            if ending == .beforeStart { limit.didNotTry(generation) }
            let isAllowed = limit.addStart(at: .zero, for: generation)
            #expect(isAllowed)
            if ending == .beforeOutcome { limit.didNotTry(generation) }
            limit.newestDidEnd(with: .success(()))
            if ending == .afterwards { limit.didNotTry(generation) }
        }
    }

    @Test func `A login that no load has tried is not the one before, which has not reached its server`() {
        var limit = LoginLimit()
        for number in 1...8 {
            let isFirstAllowed = limit.addStart(at: .zero, for: 2 * number - 1)
            limit.newestDidEnd(with: .failure(APIError(.noNetwork)))
            limit.newestDidNotReachServer()
            let isSecondAllowed = limit.addStart(at: .zero, for: 2 * number)
            limit.didNotTry(2 * number)
            limit.newestDidEnd(with: .success(()))
            limit.removeUnreachedStarts()
            #expect(isFirstAllowed && isSecondAllowed)
        }
    }

    @Test func `Loads of one generation share a relogin, and a late one of it starts none`() async {
        account.gate = Latch()
        let loads = (0..<100).map { _ in renew(after: 0) }
        await suspend(while: session.waiterCount < 100)
        #expect(session.currentGeneration == nil, "a relogin runs")
        account.gate?.open()
        for load in loads { #expect(await load.value == nil) }
        #expect(await renew(after: 0).value == nil)
        #expect(account.logins == 1)
        #expect(session.currentGeneration == 1)
        #expect(await renew(after: 1).value == nil)
        #expect(account.logins == 2)
        #expect(session.generation == 2)
    }

    @Test func `A failed relogin ends all that wait, and the session expires once`() async {
        (account.fails, account.gate) = (true, Latch())
        let loads = (0..<10).map { _ in renew(after: 0) }
        await suspend(while: session.waiterCount < 10)
        account.gate?.open()
        for load in loads { #expect(await load.value == .loginExpired) }
        #expect(account.expiries == 1)
        #expect(await renew(after: 0).value == .loginExpired)
        #expect(account.logins == 1, "the relogin in between applies to a late load")
    }

    @Test func `A load that may start no relogin waits for the one that another load needs`() async {
        let login = SentLogin(generation: 0, isProven: true)
        #expect(session.need(after: login, mayNeedLogin: false) == .refused)
        account.gate = Latch()
        let load = renew(after: 0)
        await suspend(while: session.waiterCount < 1)
        #expect(session.need(after: login, mayNeedLogin: false) == .none)
        #expect(session.need(after: login, mayNeedLogin: true) == .relogin(session.generation + 1))
        account.gate?.open()
        #expect(await load.value == nil)
    }

    @Test func `A load that begins during a relogin is ready with its generation`() async {
        #expect(await ready().value == 0)
        account.gate = Latch()
        let refused = renew(after: 0)
        await suspend(while: session.waiterCount < 1)
        let new = (0..<5).map { _ in ready() }
        await suspend(while: session.waiterCount < 6)
        account.gate?.open()
        #expect(await refused.value == nil)
        for load in new { #expect(await load.value == 1) }
        #expect(account.logins == 1)
    }

    /// A place in no queue, which records what happens to it.
    private final class Place: LoginPlace {
        private let state = Lock<(calls: [String], whenReserved: @Sendable () -> Void)>(([], {}))
        let rank = 0

        var calls: [String] { state.withLock { $0.calls } }

        func setWhenReserved(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.whenReserved = action } }

        private func record(_ call: String) { state.withLock { $0.calls.append(call) } }

        func leaveForLogin() { record("leave") }

        func reserve() {
            record("reserve")
            state.withLock { $0.whenReserved }()
        }

        func release() { record("release") }

        func holdLane() { record("hold") }

        func resumeLane() { record("resume") }
    }

    @Test func `A place that is reserved for a load which is cancelled meanwhile is left again`() async {
        account.gate = Latch()
        let place = Place()
        let load = Task { [session, service] in
            do throws(APIError) {
                try await session.renew(.next(), place, after: 0, for: service, clock: SystemClock())
                return nil as APIErrorType?
            } catch {
                return error.type
            }
        }
        place.setWhenReserved { load.cancel() }
        await suspend(while: session.waiterCount < 1)
        account.gate?.open()
        #expect(await load.value == .cancelled)
        await suspend(while: place.calls.last != "resume")
        #expect(place.calls == ["hold", "leave", "reserve", "release", "resume"])
    }

    @Test func `A renewal date that has come starts one relogin before the load is sent`() async {
        let clock = ManualClock()
        account.loginRenewalDate = clock.date.addingTimeInterval(60)
        session.readRenewalDate(for: service)
        #expect(session.current(by: clock)?.generation == 0)
        clock.advance(by: .seconds(61))
        #expect(session.current(by: clock)?.generation == nil)
        account.login = { [account] in account.loginRenewalDate = clock.date.addingTimeInterval(60) }
        let loads = (0..<5).map { _ in ready(by: clock) }
        for load in loads { #expect(await load.value == 1) }
        #expect(account.logins == 1)
        #expect(session.current(by: clock)?.generation == 1)
    }

    @Test func `A new session cancels what waits, and the old relogin no longer counts`() async {
        let gate = Latch()
        account.gate = gate
        let old = renew(after: 0)
        await suspend(while: account.logins < 1 || session.waiterCount < 1)
        session.startNewSession()
        #expect(await old.value == .cancelled)
        #expect(session.waiterCount == 0)
        account.gate = nil
        gate.open()
        let generation = session.generation
        #expect(await renew(after: generation).value == nil)
        #expect(session.generation == generation + 1)
        #expect(account.expiries == 0)
    }

    @Test func `A cancelled load no longer waits, and the others do`() async {
        account.gate = Latch()
        let (cancelled, other) = (renew(after: 0), renew(after: 0))
        await suspend(while: session.waiterCount < 2)
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        #expect(session.waiterCount == 1)
        account.gate?.open()
        #expect(await other.value == nil)
        #expect(account.logins == 1)
    }

    @Test(arguments: [true, false])
    func `An outcome after the first one of a relogin, such as that of its deadline, has no effect`(_ fails: Bool) {
        let (failed, succeeded) = (
            LoginSession.Outcome.failure(APIError(.loginExpired)), LoginSession.Outcome.success(())
        )
        var state = LoginState()
        let relogin = state.open(Place())
        let isSet = state.setOutcome(fails ? failed : succeeded, of: relogin) != nil
        #expect(isSet)
        let isReplaced = state.setOutcome(fails ? succeeded : failed, of: relogin) != nil
        #expect(!isReplaced)
        #expect(state.generation == 1)
        #expect((state.outcome.error != nil) == fails)
    }

    @Test func `A relogin that has failed is not one that nobody needs, and its lane is that of the loads after it`() {
        var state = LoginState()
        let relogin = state.open(Place())
        let isSet = state.setOutcome(.failure(APIError(.loginExpired)), of: relogin) != nil
        #expect(isSet)
        let isDropped = state.closeUnneeded(relogin) != nil
        #expect(!isDropped)
        let closed = state.closeFailed(relogin)
        #expect(closed?.failed.holder == nil && closed?.late.holder != nil)
    }

    @Test(arguments: [APIErrorType.noNetwork, .loginExpired])
    func `A load with the login before a relogin that has failed needs the early one that runs`(_ type: APIErrorType) {
        var state = LoginState()
        let failed = state.open(Place())
        let isSet = state.setOutcome(.failure(APIError(type)), of: failed) != nil
        let isClosed = state.closeFailed(failed) != nil
        let early = state.open(earlyStart: .now, Place())
        #expect(isSet && isClosed && state.need(after: 0, mayNeedLogin: true) == .relogin(2))
        let waits = state.outcome(after: 0) == nil
        let isDropped = state.closeFailedEarly(early) != nil
        #expect(waits && !isDropped)
    }

    @Test func `A load with the login before the newest one needs none after a relogin without a response`() {
        var state = LoginState()
        let outcomes = [LoginSession.Outcome.success(()), .failure(APIError(.noNetwork))]
        for outcome in outcomes {
            let relogin = state.open(Place())
            let isSet = state.setOutcome(outcome, of: relogin) != nil
            _ = outcome.error == nil ? state.close() : state.closeFailed(relogin)?.failed
            #expect(isSet)
        }
        let (older, newer) = (state.outcome(after: 0), state.outcome(after: 1))
        #expect(older != nil && older?.error == nil && newer == nil)
        #expect(state.need(after: 0, mayNeedLogin: true) == .none)
        #expect(state.need(after: 1, mayNeedLogin: true) == .relogin(3))
    }

    @Test(arguments: [nil, Date.now])
    func `A sign-in at the instant in which a relogin fails makes it a success`(_ earlyStart: Date?) {
        var state = LoginState()
        let relogin = state.open(earlyStart: earlyStart, Place())
        _ = state.beginSession()
        let isClosed = state.closeFailedEarly(relogin) != nil
        let outcome = state.setOutcome(.failure(APIError(.loginExpired)), of: relogin)?.own
        #expect(!isClosed && outcome != nil && outcome?.error == nil)
        #expect(state.refusal(of: RequestID(rawValue: 1)) == nil)
    }

    @Test func `After a sign-in on a screen, the failure of a relogin counts for no load`() async {
        (account.fails, account.gate) = (true, Latch())
        let load = renew(after: 0)
        await suspend(while: account.logins < 1 || session.waiterCount < 1)
        session.beginSession()
        session.didSignIn()
        account.gate?.open()
        #expect(await load.value == nil)
        #expect(account.expiries == 0)
    }
}

@MainActor @Suite("A closure of the service decides whether a login has expired", .timeLimit(.minutes(10)))
struct LoginDecisionTests {
    /// What a server refuses a token with.
    enum Refusal: CaseIterable {
        case status, otherStatus, acceptedStatus, code, reader

        var response: HTTPResponse {
            switch self {
            case .status, .acceptedStatus: .json(#"{"errcode":7,"msg":"no"}"#, status: 401)
            case .otherStatus: .json(#"{"errcode":7,"msg":"no"}"#, status: 403)
            case .code: .json(#"{"errcode":7,"msg":"no"}"#)
            case .reader: .json(#"{"errcode":7,"msg":"no"}"#, status: 440)
            }
        }

        /// Whether it is an expired login without the closure.
        var isExpiry: Bool { self == .status || self == .reader }

        /// How the load ends if it is none.
        var type: APIErrorType? { self == .acceptedStatus ? nil : self == .code ? .server : .http }
    }

    private let account = Account()

    private func proxy(
        _ refusal: HTTPResponse,
        _ decide: @escaping @Sendable (APIResponse) -> Bool?
    ) -> (APIProxy, ScriptedTransport) {
        let transport = ScriptedTransport { $0.headers["X-Token"] == "t1" ? .json(goodsJSON([])) : refusal }
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
            $0.failureReader = FailureReader { $0.status == 440 ? ServerFailure(code: 7, type: .loginExpired) : nil }
            $0.isLoginExpired = decide
        }
        return (APIProxy(fake: transport, service: service), transport)
    }

    private func request(_ refusal: Refusal, _ proxy: APIProxy) -> MaybeGoods {
        let request = MaybeGoods(proxy: proxy)
        if refusal == .acceptedStatus { request.ownOptions.acceptedStatuses = [401] }
        return request
    }

    @Test(arguments: Refusal.allCases, [true, false, nil] as [Bool?])
    func `It decides about every refusal, with status, code and body`(_ refusal: Refusal, _ decision: Bool?) async {
        let seen = Lock<[String]>([])
        let (proxy, transport) = proxy(refusal.response) { response in
            seen.withLock {
                $0.append("\(response.status) \(response.serverCode?.text ?? "-") \(response.body.count)")
            }
            return decision
        }
        let request = request(refusal, proxy)
        let isExpired = decision ?? refusal.isExpiry
        let type: APIErrorType?
        do throws(APIError) {
            _ = try await request.value()
            type = nil
        } catch {
            type = error.type
        }
        #expect(type == (isExpired ? nil : refusal.type))
        #expect(account.logins == (isExpired ? 1 : 0) && account.expiries == 0)
        #expect(transport.requests.count == (isExpired ? 2 : 1))
        // Not for the success after the relogin.
        #expect(seen.withLock(\.self) == ["\(refusal.response.status) 7 \(refusal.response.body.count)"])
    }

    @Test func `A POST whose password has to be repeated is sent once, and the good token stays`() async {
        let refusal = HTTPResponse.json(#"{"errcode":"PASSWORD_REQUIRED","msg":"again"}"#, status: 401)
        let (proxy, transport) = proxy(refusal) { $0.serverCode == "PASSWORD_REQUIRED" ? false : nil }
        let request = GoodsRequest(proxy: proxy)
        #expect(await request.outcome() == .http)
        #expect(request.error?.code == "PASSWORD_REQUIRED" && request.error?.status == 401)
        #expect(transport.requests.count == 1 && account.logins == 0 && account.token == "t0")
    }

    @Test func `It is not called for a login request`() async {
        let (proxy, _) = proxy(.status(401)) { _ in
            Issue.record("called")
            return true
        }
        let request = GoodsRequest(proxy: proxy)
        request.customLogin = true
        #expect(await request.outcome() == .http)
        #expect(account.logins == 0)
    }

    @Test(arguments: [true, false, nil] as [Bool?])
    func `A plain call is sent again as it decides`(_ decision: Bool?) async throws {
        let (proxy, transport) = proxy(.status(401)) { _ in decision }
        let service = try #require(proxy.defaultService)
        let response = try await proxy.send(HTTPRequest(.get, URL("/ping")), to: service)
        #expect(response.status == (decision == false ? 401 : 200))
        #expect(transport.requests.count == (decision == false ? 1 : 2))
    }

    @Test(arguments: ["{}", "<html>sign in</html>"])
    func `It is called once for an accepted status whose body is in a file`(_ body: String) async throws {
        let calls = Lock(0)
        let (proxy, _) = proxy(HTTPResponse(status: 401, body: Data(body.utf8))) { response in
            calls.withLock { $0 += 1 }
            return response.status == 401
        }
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "a")
        let options = APIRequestOptions(acceptedStatuses: [401])
        let request = APIRequest<DownloadedFile>("/a", destination: .file(file), options: options, proxy: proxy)
        _ = try await request.value()
        #expect(try String(contentsOf: file, encoding: .utf8) == goodsJSON([]))
        #expect(calls.withLock(\.self) == 1 && account.logins == 1)
    }
}

private final class MaybeGoods: SampleRequest, APIManager {
    typealias Response = [Goods]?
}

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

    @Test func `A date that has passed when a relogin begins starts no other, even if that fails`() async {
        let late = Latch()
        let transport = ScriptedTransport { request in
            guard request.url.path.hasSuffix("late") else { return .json(goodsJSON([])) }
            try await late.wait()
            return .status(401)
        }
        let proxy = proxy(transport)
        account.loginRenewalDate = clock.date.addingTimeInterval(10)
        account.fails = true
        let refused = load(proxy, "/late")
        await transport.waitForRequests(1)
        clock.advance(by: .seconds(11))
        late.open()
        #expect(await screen.endings(of: [refused]) == [.failure(.loginExpired)])
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 1)
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

    @Test func `After a logout, the date of the next login counts, whatever was renewed before`() async {
        let proxy = proxy(accepting)
        account.loginRenewalDate = clock.date
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 1, "the same date starts no other one")
        proxy.logout()
        #expect(await screen.endings(of: [load(proxy)]) == [.success])
        #expect(account.logins == 2)
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
