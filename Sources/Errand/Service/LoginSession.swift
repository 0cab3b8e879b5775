import Foundation

/// The session of one account at one service: it runs one relogin for all loads that need it.
///
/// A *generation* is increased when a relogin ends, successfully or not, and when a new session begins; an early renewal that fails
/// does not count, nor does a relogin that nobody needs any more. A load records the generation in which its headers were made;
/// when its login has expired and a later generation exists, the relogin in between applies to it, and none is started.
final class LoginSession: Sendable {
    typealias Outcome = Result<Void, APIError>

    struct Stage: Equatable {
        fileprivate let generation: Int?
        fileprivate let begun: Int
    }

    private let state = Lock(LoginState())
    /// Of the origin and the environment, for the sessions of a cache.
    let cacheName: String

    init(cacheName: String = "") { self.cacheName = cacheName }

    var waiterCount: Int { state.withLock(\.waiters.count) }
    var generation: Int { state.withLock(\.generation) }
    var relogins: Int { state.withLock(\.relogins) }
    /// How many sessions have ended, by a logout or a change of the account, and how many have begun, by a sign-in.
    var sessions: (ended: Int, begun: Int) { state.withLock(\.sessions) }
    var endedAt: RequestID? { state.withLock(\.endedAt) }
    /// Whether a logout, or a change of the account, has ended the session of this load.
    func hasEnded(since id: RequestID) -> Bool { endedAt.map { $0 > id } == true }

    /// `nil` while a relogin runs.
    var currentGeneration: Int? { state.withLock { $0.isRunning ? nil : $0.generation } }
    /// Changes when a relogin begins or ends, and when a sign-in has succeeded, also during a relogin.
    var stage: Stage {
        state.withLock { Stage(generation: $0.isRunning ? nil : $0.generation, begun: $0.sessions.begun) }
    }
    var current: SentLogin { state.withLock(\.current) }

    /// `nil` while a relogin runs, and when the renewal date has come.
    func current(by clock: any APIClock) -> SentLogin? {
        let (login, dueDate) = state.withLock { ($0.isRunning ? nil : $0.current, $0.dueDate) }
        guard let dueDate, dueDate <= clock.date else { return login }
        return nil
    }

    /// Returns why a load that has queued during the last relogin fails without being sent.
    func refusal(of id: RequestID) -> APIError? { state.withLock { $0.refusal(of: id) } }

    /// `hasNeededOne` is whether a relogin was for this load.
    func didSucceed(with login: SentLogin, hasNeededOne: Bool) {
        guard !login.isProven || hasNeededOne else { return }
        state.withLock { $0.didSucceed(in: login.generation, hasNeededOne: hasNeededOne) }
    }

    /// A load that has needed a relogin is refused again.
    func didRefuseAgain(_ login: SentLogin) { state.withLock { $0.didRefuseAgain(in: login.generation) } }

    /// A load has ended, for another reason than the login, that has needed the relogin which brings the login of a generation.
    func didNotTry(_ generation: Int) { state.withLock { $0.didNotTry(generation) } }

    @MainActor func readRenewalDate(for service: APIService) {
        guard let handler = service.reloginHandler else { return }
        let date = EnvironmentScope.$current.withValue(service.environment) { handler.loginRenewalDate }
        state.withLock { $0.renewalDate = date }
    }

    /// Returns the generation to send in, once no relogin runs; starts one if the renewal date has come.
    func ready(
        _ id: RequestID,
        _ place: any LoginPlace,
        for service: APIService,
        clock: any APIClock
    ) async throws(APIError) -> Int {
        let now = clock.date
        let newRun = open(place, earlyStart: now) { $0.isDue(at: now) }
        try await wait(id, place, isNew: true) { if let newRun { start(newRun, of: service, clock: clock) } }.get()
        return generation
    }

    /// Returns once a relogin has ended after `generation`; starts one if necessary.
    func renew(
        _ id: RequestID,
        _ place: any LoginPlace,
        after generation: Int,
        for service: APIService,
        clock: any APIClock
    ) async throws(APIError) {
        var ended: Outcome?
        let newRun = open(place) { state in
            ended = state.outcome(after: generation)
            return ended == nil && !state.isRunning
        }
        if let ended { return try ended.get() }
        try await wait(id, place) { if let newRun { start(newRun, of: service, clock: clock) } }.get()
    }

    /// Opens a relogin if `isNeeded`, which is asked again once the lane is held.
    private func open(
        _ place: any LoginPlace,
        earlyStart: Date? = nil,
        if isNeeded: (inout LoginState) -> Bool
    ) -> Int? {
        guard state.withLock({ isNeeded(&$0) }) else { return nil }
        place.holdLane()
        let run = state.withLock { isNeeded(&$0) ? $0.open(earlyStart: earlyStart, place) : nil }
        if run == nil { place.resumeLane() }
        return run
    }

    func need(after login: SentLogin, mayNeedLogin: Bool) -> LoginNeed {
        state.withLock { $0.need(after: login.generation, mayNeedLogin: mayNeedLogin) }
    }

    /// A running relogin no longer counts, and its waiters end as cancelled.
    func startNewSession() {
        let (works, closed, _) = state.withLock { ($0.works.values.map(\.self), $0.close(), $0.reset()) }
        for work in works { work.cancel() }
        resume(closed, returning: .failure(APIError(.cancelled)))
    }

    /// A sign-in has succeeded, whose login the app is about to keep.
    func beginSession() { _ = state.withLock { $0.beginSession() } }
    /// Not before the app has kept the login: loads that are sent again read it.
    func didSignIn() { state.withLock { $0.didSignIn() } }

    /// `start` starts the relogin that this load has opened: not before the load waits, because it may end at once.
    private func wait(
        _ id: RequestID,
        _ place: any LoginPlace,
        isNew: Bool = false,
        start: () -> Void
    ) async -> Outcome {
        await withCancellableContinuation(ifCancelled: .failure(APIError(.cancelled))) { waiter in
            defer { start() }
            let outcome = state.withLock { state -> Outcome? in
                guard state.isRunning else { return isNew ? .success(()) : state.outcome }
                state.waiters[id] = LoginWaiter(id: id, place: place, isUnsent: isNew, continuation: waiter)
                return nil
            }
            // Not before: the next load would be sent with the login that was refused.
            if outcome == nil { place.leaveForLogin() }
            return outcome
        } remove: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation
        }
    }

    private func start(_ run: Int, of service: APIService, clock: any APIClock) {
        let (work, isWanted) = state.withLock { state in
            // So that no late call of the handler overwrites newer credentials: one that never returns keeps the next relogin
            // waiting until its deadline.
            let earlier = state.works.max { $0.key < $1.key }?.value
            // Loads of any priority wait for it. A logout finds it from its first step on.
            let work = Task(priority: .userInitiated) {
                _ = await earlier?.value
                return await relogin(run: run, of: service, clock: clock)
            }
            state.works[run] = work
            return (work, state.isCurrent(run))
        }
        let deadline = Task {
            guard (try? await clock.sleep(for: service.reloginTimeout)) != nil else { return }
            // Nothing has refused the login.
            let error = APIError(.timeout, reason: state.withLock(\.delay)).ofUndecidedLogin
            await finish(run, of: service, with: .failure(error))
            // Not before: the error of a handler that ends because of it would be reported instead.
            work.cancel()
        }
        if !isWanted { work.cancel() }
        Task {
            let outcome = await work.value
            state.withLock { $0.works[run] = nil }
            await finish(run, of: service, with: outcome)
            deadline.cancel()
        }
    }

    @MainActor private func relogin(run: Int, of service: APIService, clock: any APIClock) async -> Outcome {
        guard !Task.isCancelled else { return .failure(APIError(.cancelled)) }
        guard let handler = service.reloginHandler else { return .success(()) }
        readRenewalDate(for: service)
        let (now, uptime) = (clock.date, clock.uptime)
        // The app may have signed in meanwhile.
        if let closed = state.withLock({ $0.closeUnlessDue(run, at: now) }) {
            resume(closed)
            return .success(())
        }
        // Nothing has refused that login.
        guard state.withLock({ !$0.hasSignedIn(since: run) }) else { return .success(()) }
        // The session may have ended, or the deadline passed, before the main actor had time for this.
        guard state.withLock({ $0.begin(run, at: now) }) else { return .failure(APIError(.cancelled)) }
        guard state.withLock({ $0.mayStart(run, at: uptime) }) else { return .failure(state.withLock(\.tooManyLogins)) }
        do {
            let renewalDate = try await EnvironmentScope.$current.withValue(service.environment) {
                let scope = ReloginScope(of: service)
                defer { scope.end() }
                try await ReloginScope.$current.withValue(scope) { try await handler.relogin() }
                return handler.loginRenewalDate
            }
            let now = clock.date
            state.withLock { $0.didRenew(run, to: renewalDate, at: now) }
            return .success(())
        } catch {
            // Without a response of the server, the login may still be valid.
            guard let error = error as? APIError, error.leavesLoginUndecided else {
                let message = (error as? APIError)?.expiryMessage
                return .failure(APIError(.loginExpired, message: message, underlying: error))
            }
            return .failure(error.ofUndecidedLogin)
        }
    }

    /// Notifies the handler of an expired session before the waiters.
    private func finish(_ run: Int, of service: APIService, with outcome: Outcome) async {
        // Cancelled together with the loads that needed it, so that none reports an expired session; what has begun since is sent,
        // and needs a relogin of its own if it is refused.
        if outcome.error?.isOfCancelledLogin == true, let dropped = state.withLock({ $0.closeUnneeded(run) }) {
            return resume(dropped)
        }
        if case .failure = outcome, let closed = state.withLock({ $0.closeFailedEarly(run) }) {
            // The login is valid until the service refuses it.
            return resume(closed)
        }
        guard let (outcome, _) = state.withLock({ $0.setOutcome(outcome, of: run) }) else { return }
        if let error = outcome.error {
            if error.type == .loginExpired { await reportExpiry(error, run: run, of: service) }
            if let (failed, late) = state.withLock({ $0.closeFailed(run) }) {
                resume(failed, returning: outcome)
                return resume(late)
            }
        }
        // In the turn of the main actor that ends a sign-in, the app keeps its login.
        if state.withLock({ $0.hasSignedIn(since: run) }) { await MainActor.run {} }
        while true {
            let (closed, unplaced) = state.withLock { $0.closePlaced(run) }
            guard !unplaced.isEmpty else { return resume(closed) }
            // While the relogin still keeps others from being sent, so that none is before them.
            for waiter in unplaced.inOrder {
                waiter.place.reserve()
                // Cancelled meanwhile: its load may have left the place before this.
                if state.withLock({ $0.waiters[waiter.id] == nil }) { waiter.place.release() }
            }
        }
    }

    /// Returns all loads to the queue in its order before the first of them goes on.
    private func resume(_ closed: LoginState.Closed, returning outcome: Outcome = .success(())) {
        let waiters = closed.waiters.inOrder
        if case .success = outcome { for waiter in waiters { waiter.place.reserve() } }
        closed.holder?.resumeLane()
        for waiter in waiters { waiter.continuation.resume(returning: outcome) }
    }

    /// Notifies the handler once for each session, and not when the user has signed out meanwhile.
    @MainActor private func reportExpiry(_ error: APIError, run: Int, of service: APIService) {
        let isFirst = state.withLock { state in
            guard state.isCurrent(run), !state.hasSessionExpired, !state.hasSignedIn(since: run) else { return false }
            state.hasSessionExpired = true
            return true
        }
        guard isFirst, let handler = service.reloginHandler else { return }
        let error = error.worded(by: service.errorMessages)
        EnvironmentScope.$current.withValue(service.environment) { handler.sessionDidExpire(error) }
    }
}

extension APIError {
    fileprivate var isOfCancelledLogin: Bool {
        underlying is CancellationError || (underlying as? APIError)?.type == .cancelled
    }

    /// Whether the server has neither granted nor refused a login: it could not be reached, was another one, or has had a fault.
    var leavesLoginUndecided: Bool {
        switch type {
        case .noNetwork, .timeout, .transport, .security: true
        case .loginExpired, .cancelled: false
        case .decoding where response?.mayBeOfPortal == true: true
        default:
            // Whatever an app or a failure reader has made of it. Without a response, the one of a relogin of another service, or
            // of a shared one.
            status.map(Self.leavesLoginUndecided) ?? (underlying as? APIError)?.leavesLoginUndecided ?? false
        }
    }

    /// Also one that is too slow, too early or too frequent, and that of an app which is too old.
    private static func leavesLoginUndecided(_ status: Int) -> Bool {
        status >= 500 || [408, 425, 426, 429].contains(status)
    }
}

extension APIResponse {
    /// Whether it may be the page of a captive portal, which no certificate of the server allows.
    fileprivate var mayBeOfPortal: Bool {
        isSuccess && headers.mediaType == "text/html" && (redirects + [url]).contains { $0.scheme != "https" }
    }
}

/// The session in which a load began, for a call that goes on after the ending of the load: the user may have signed out meanwhile.
struct LoadSession: Sendable {
    private let login: LoginSession?
    private let id: RequestID

    /// `login` is `nil` for a sign-in: what that switches to is its own session.
    init(_ login: LoginSession?, of id: RequestID) { (self.login, self.id) = (login, id) }

    var hasEnded: Bool { login?.hasEnded(since: id) == true }

    func check() throws(APIError) { if hasEnded { throw APIError(.cancelled) } }
}

/// What tells the responses to one user of a service from those to the next one.
package struct UserSession: Sendable {
    let login: LoginSession?
    /// Of the environment, which another path of the same login is as well.
    let baseURL: URL?
    let jar: CookieJar
    private let sessions: (ended: Int, begun: Int)

    init(of service: APIService?, _ jar: CookieJar) {
        sessions = service?.login.sessions ?? (ended: 0, begun: 0)
        (login, baseURL, self.jar) = (service?.login, service?.baseURL, jar)
    }

    /// Whether its loads have been cancelled: not by a sign-in alone.
    package var hasEnded: Bool { login.map { $0.sessions.ended != sessions.ended } ?? false }
    /// Not after a sign-in alone: that is usually the same user, whose login has expired.
    func isOfSameAccount(as other: UserSession) -> Bool {
        login === other.login && !isElsewhere(than: other) && sessions.ended == other.sessions.ended
    }

    /// Whatever the login is: a service that is made for each load has another one each time.
    func isElsewhere(than other: UserSession) -> Bool { baseURL != other.baseURL || jar !== other.jar }

    package func isOfSameLogin(as other: UserSession) -> Bool { login === other.login }
}

extension UserSession: Equatable {
    /// A sign-in without a logout may be another user's.
    package static func == (lhs: UserSession, rhs: UserSession) -> Bool {
        lhs.isOfSameAccount(as: rhs) && lhs.sessions.begun == rhs.sessions.begun
    }
}
