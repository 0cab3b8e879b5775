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
                try await session.renew(.next(), after: generation, for: service, clock: SystemClock())
                return nil
            } catch {
                return error.type
            }
        }
    }

    private func ready(by clock: any APIClock = SystemClock()) -> Task<Int?, Never> {
        Task { [session, service] in try? await session.ready(.next(), for: service, clock: clock) }
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
        let relogin = state.open(nil)
        let isSet = state.setOutcome(fails ? failed : succeeded, of: relogin) != nil
        #expect(isSet)
        let isReplaced = state.setOutcome(fails ? succeeded : failed, of: relogin) != nil
        #expect(!isReplaced)
        #expect(state.generation == 1)
        #expect((state.outcome.error != nil) == fails)
    }

    @Test func `After a sign-in on a screen, the failure of a relogin counts for no load`() async {
        (account.fails, account.gate) = (true, Latch())
        let load = renew(after: 0)
        await suspend(while: account.logins < 1 || session.waiterCount < 1)
        session.didSignIn()
        account.gate?.open()
        #expect(await load.value == nil)
        #expect(account.expiries == 0)
    }
}
