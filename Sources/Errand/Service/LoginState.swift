import Foundation

/// The state of a ``LoginSession``.
struct LoginState {
    /// One relogin that is under way.
    private struct Run {
        let number: Int
        /// When a renewal date has begun it; `nil` when a load needs it because the service has refused that load.
        var earlyStart: Date?
        var hasBegun = false
        var hasOutcome = false
        var isCounted = false
        var hasSignedIn = false
        /// Holds the loads with the same login in the queue.
        let holder: any LoginPlace
    }

    /// What a relogin that has ended leaves behind.
    struct Closed {
        var waiters: [LoginWaiter] = []
        var holder: (any LoginPlace)?
    }

    private(set) var current = SentLogin(generation: 0, isProven: false)
    /// From which on the login is the current one: a relogin that fails leaves it.
    private var loginGeneration = 0
    private(set) var sessions = (ended: 0, begun: 0)
    /// When the last session ended.
    private(set) var endedAt: RequestID?
    /// How the relogin before ``generation`` ended.
    private(set) var outcome: LoginSession.Outcome = .success(())
    private var newestAtOutcome = RequestID.newest
    var waiters: [RequestID: LoginWaiter] = [:]
    /// The relogins that wait for an earlier one, or whose handler may still run, also after their deadline: a logout cancels them.
    var works: [Int: Task<LoginSession.Outcome, Never>] = [:]
    var hasSessionExpired = false
    private var run: Run?
    /// From a sign-in until the app has kept its login.
    private(set) var isKeepingLogin = false
    /// How many relogins have ended.
    private(set) var relogins = 0
    private var lastRun = 0
    private var limit = LoginLimit()
    var renewalDate: Date?
    /// Renewal dates up to this one begin no further relogin.
    private var spentUntil: Date?

    var isRunning: Bool { run != nil }
    var generation: Int { current.generation }

    /// Whether a relogin runs that a refused load has needed.
    var isNeeded: Bool { run.map { $0.earlyStart == nil } ?? false }

    mutating func didSucceed(in generation: Int, hasNeededOne: Bool) {
        if hasNeededOne { limit.update(generation) { $0.hasHelped = true } }
        if generation == self.generation { current.isProven = true }
    }

    mutating func didNotTry(_ generation: Int) { limit.didNotTry(generation) }
    mutating func didRefuseAgain(in generation: Int) { limit.update(generation) { $0.hasFailed = true } }

    private mutating func nextGeneration(isNewLogin: Bool = true) {
        current = SentLogin(generation: generation + 1, isProven: false)
        if isNewLogin { loginGeneration = generation }
    }
    /// Whether there is a newer login than that of a generation.
    private func isReplaced(_ generation: Int) -> Bool { generation < loginGeneration }

    /// What a load needs that was refused with the login of a generation.
    func need(after generation: Int, mayNeedLogin: Bool) -> LoginNeed {
        if isKeepingLogin || isReplaced(generation) || isNeeded && !mayNeedLogin { return .none }
        if !isRunning, generation != self.generation, !isUndecided { return .none }
        return mayNeedLogin ? .relogin(self.generation + 1) : .refused
    }

    /// Whether the server has neither granted nor refused the last login.
    var isUndecided: Bool { outcome.error.map { $0.type != .loginExpired } ?? false }

    /// Returns how a relogin has ended since a load was sent that was refused; `nil` if the load needs one.
    mutating func outcome(after generation: Int) -> LoginSession.Outcome? {
        guard !isRunning else {
            if !isReplaced(generation) { requireRun() }
            return nil
        }
        guard isUndecided else { return self.generation == generation ? nil : outcome }
        // The outcome of a relogin without a response of the server does not apply to a load that did not wait for it.
        return isReplaced(generation) ? .success(()) : nil
    }

    /// `holder` holds the loads with the same login in the queue until the relogin is closed.
    mutating func open(earlyStart: Date? = nil, _ holder: any LoginPlace) -> Int {
        lastRun += 1
        run = Run(number: lastRun, earlyStart: earlyStart, hasSignedIn: isKeepingLogin, holder: holder)
        return lastRun
    }

    mutating func close() -> Closed {
        let run = exchange(&self.run, with: nil)
        // What was sent with the login before is sent again, as after an outcome.
        if let run, run.hasSignedIn, !run.hasOutcome { nextGeneration() }
        let waiters = Array(exchange(&self.waiters, with: [:]).values)
        return Closed(waiters: waiters, holder: run?.holder)
    }

    /// Ends a relogin that has failed, unless the user has signed in since; returns apart those that have begun after its outcome,
    /// such as a load of the screen that the handler has shown.
    mutating func closeFailed(_ number: Int) -> (failed: Closed, late: Closed)? {
        guard !hasSignedIn(since: number) else { return nil }
        guard isCurrent(number) else { return (Closed(), Closed()) }
        var (failed, late) = (close(), Closed())
        late.waiters = failed.waiters.filter { $0.id > newestAtOutcome }
        failed.waiters.removeAll { $0.id > newestAtOutcome }
        // Those in its lane are younger than the late ones, which return to the queue first.
        late.holder = exchange(&failed.holder, with: nil)
        return (failed, late)
    }

    /// There is a session that can expire: neither the outcome of an earlier relogin nor the failure of one that is under way
    /// applies to it.
    mutating func beginSession() -> LoginSession.Outcome {
        sessions.begun += 1
        hasSessionExpired = false
        isKeepingLogin = true
        run?.hasSignedIn = true
        limit.removeUnreachedStarts()
        return exchange(&outcome, with: .success(()))
    }

    /// What was sent before, and is refused from now on, is sent again with this login; not after a logout meanwhile.
    mutating func didSignIn() {
        guard exchange(&isKeepingLogin, with: false) else { return }
        if isRunning { run?.hasSignedIn = true } else { nextGeneration() }
    }

    mutating func reset() -> LoginSession.Outcome {
        sessions.ended += 1
        endedAt = .ofChange()
        nextGeneration()
        hasSessionExpired = false
        limit = LoginLimit()
        isKeepingLogin = false
        (renewalDate, spentUntil) = (nil, nil)
        return exchange(&outcome, with: .success(()))
    }

    /// Ends a relogin when all of its waiters have a place in the queue; until then, returns those that need one.
    mutating func closePlaced(_ number: Int) -> (closed: Closed, unplaced: [LoginWaiter]) {
        guard isCurrent(number) else { return (Closed(), []) }
        let unplaced = waiters.values.filter(\.needsPlace)
        for waiter in unplaced { waiters[waiter.id]?.needsPlace = false }
        return unplaced.isEmpty ? (close(), []) : (Closed(), unplaced)
    }

    /// Ends a relogin without an outcome, unless a load that was refused waits for it, or any that an early one has begun for.
    mutating func closeUnneeded(_ number: Int) -> Closed? {
        guard isCurrent(number), run?.hasOutcome == false, run?.earlyStart == nil || waiters.isEmpty,
            waiters.values.allSatisfy(\.isUnsent)
        else { return nil }
        if run?.isCounted == true { limit.removeNewest() }
        return close()
    }

    func refusal(of id: RequestID) -> APIError? { id <= newestAtOutcome ? outcome.error : nil }
    func isCurrent(_ number: Int) -> Bool { run?.number == number }
    func hasSignedIn(since number: Int) -> Bool { isCurrent(number) && run?.hasSignedIn == true }

    /// Returns whether the relogin is the current one and has no outcome, so that the handler may be called for it.
    ///
    /// A renewal date that has come by then begins no other.
    mutating func begin(_ number: Int, at date: Date) -> Bool {
        guard isCurrent(number), run?.hasOutcome == false else { return false }
        run?.hasBegun = true
        if run?.earlyStart == nil { spentUntil = date }
        return true
    }

    var delay: String {
        guard run?.hasBegun == true else { return "the relogin took too long: the one before has not returned" }
        guard waiters.values.contains(where: \.isUnsent) else { return "the relogin took too long" }
        return "the relogin took too long; loads that began meanwhile wait for it, and one that its handler waits for, "
            + "but begins in a detached task, must have isLoginRequest"
    }

    /// Counts a login that refused loads need; returns whether there were not too many recently.
    mutating func mayStart(_ number: Int, at uptime: Duration) -> Bool {
        if isCurrent(number), run?.earlyStart != nil { return true }
        guard limit.addStart(at: uptime, for: generation + 1) else { return false }
        if isCurrent(number) { run?.isCounted = true }
        return true
    }

    var tooManyLogins: APIError {
        // Loads that are refused while the login server cannot be reached are no reason to end the session.
        if isUndecided, let last = outcome.error { return last }
        return APIError(.loginExpired, reason: limit.description, underlying: outcome.error?.underlying)
    }

    /// Returns the outcome, which is a success if the user has signed in meanwhile, and the former one; `nil` if the deadline has
    /// passed or the session has ended.
    mutating func setOutcome(
        _ outcome: LoginSession.Outcome,
        of number: Int
    ) -> (own: LoginSession.Outcome, former: LoginSession.Outcome)? {
        guard isCurrent(number), run?.hasOutcome == false else { return nil }
        let outcome = run?.hasSignedIn == true ? .success(()) : outcome
        run?.hasOutcome = true
        relogins += 1
        nextGeneration(isNewLogin: outcome.error == nil)
        if case .success = outcome {
            hasSessionExpired = false
            limit.removeUnreachedStarts()
        }
        if run?.isCounted == true { limit.newestDidEnd(with: outcome) }
        newestAtOutcome = .newest
        let former = exchange(&self.outcome, with: outcome)
        if isUndecided, run?.isCounted == true { limit.newestDidNotReachServer() }
        return (outcome, former)
    }
}

// MARK: Early renewal

extension LoginState {
    /// The date from which a relogin begins before a request is sent.
    var dueDate: Date? {
        guard let renewalDate, let spentUntil, renewalDate <= spentUntil else { return renewalDate }
        return nil
    }

    func isDue(at date: Date) -> Bool {
        guard !isRunning, let dueDate else { return false }
        return dueDate <= date
    }

    /// A load was refused: it fails if the relogin that runs does, and the date that has begun that begins no other.
    mutating func requireRun() {
        guard let earlyStart = run?.earlyStart else { return }
        spentUntil = earlyStart
        run?.earlyStart = nil
    }

    /// Ends an early relogin, if the renewal date has changed and has not come yet.
    mutating func closeUnlessDue(_ number: Int, at date: Date) -> Closed? {
        guard isCurrent(number), run?.earlyStart != nil, renewalDate.map({ $0 > date }) != false else { return nil }
        return close()
    }

    /// Ends a failed early relogin, unless a load needs it or the user has signed in; no date up to its beginning begins another.
    mutating func closeFailedEarly(_ number: Int) -> Closed? {
        guard isCurrent(number), let earlyStart = run?.earlyStart, run?.hasOutcome == false,
            run?.hasSignedIn == false
        else { return nil }
        spentUntil = earlyStart
        return close()
    }

    /// A date that has come begins no other relogin.
    mutating func didRenew(_ number: Int, to renewalDate: Date?, at date: Date) {
        guard isCurrent(number) else { return }
        self.renewalDate = renewalDate
        // Not the later one of both: the clock may have been set back.
        spentUntil = date
    }
}

/// Counts the relogins that refused loads need, of which too many in a short time are a loop.
struct LoginLimit {
    /// More than one only if others have succeeded with the login before.
    static let maxOfLoad = 5
    /// More relogins than this within ``window`` are a loop: of those that have not helped, and of all.
    static let (maxUnhelpful, maxStarts) = (5, 30)
    static let window = Duration.seconds(30)

    private var recentStarts: [Start] = []
    /// That of a relogin which is about to begin, although the load has ended that has needed it.
    private var untriedGeneration: Int?

    struct Start {
        fileprivate let uptime: Duration
        /// That of the login that it brings.
        let generation: Int
        var hasReachedServer = true
        /// Whether a load that has needed it has succeeded since.
        var hasHelped = false
        /// Whether such a load was refused again, or the relogin has failed.
        var hasFailed = false
        /// Whether such a load has ended otherwise, of which nothing follows.
        var isUntried = false

        var isUnhelpful: Bool { !hasHelped && (hasFailed || !isUntried) }
    }

    private var count: Int { recentStarts.count }
    private var unhelpfulCount: Int { recentStarts.count(where: \.isUnhelpful) }

    var description: String {
        let time = "\(Self.window.components.seconds) s"
        return unhelpfulCount < Self.maxUnhelpful
            ? "\(count) logins in \(time) were not enough" : "\(unhelpfulCount) logins in \(time) have not helped"
    }

    mutating func addStart(at uptime: Duration, for generation: Int) -> Bool {
        recentStarts.removeAll { uptime - $0.uptime >= Self.window }
        guard count < Self.maxStarts, unhelpfulCount < Self.maxUnhelpful else { return false }
        recentStarts.append(
            Start(uptime: uptime, generation: generation, isUntried: untriedGeneration == generation)
        )
        return true
    }

    /// Records that the server has neither granted nor refused the newest relogin.
    mutating func newestDidNotReachServer() {
        if let newest = recentStarts.indices.last { recentStarts[newest].hasReachedServer = false }
    }
    mutating func newestDidEnd(with outcome: LoginSession.Outcome) {
        if let newest = recentStarts.indices.last { recentStarts[newest].hasFailed = outcome.error != nil }
    }

    /// Changes the relogin that has brought the login of a generation, or the last one before a sign-in or an early renewal.
    mutating func update(_ generation: Int, _ change: (inout Start) -> Void) {
        let index = recentStarts.lastIndex { $0.generation <= generation }
        if let index { change(&recentStarts[index]) }
    }

    /// The relogin may not have ended, nor even begun.
    mutating func didNotTry(_ generation: Int) {
        let index = recentStarts.firstIndex { $0.generation == generation }
        if let index { recentStarts[index].isUntried = true } else { untriedGeneration = generation }
    }

    mutating func removeNewest() {
        _ = recentStarts.popLast()
        untriedGeneration = nil
    }

    mutating func removeUnreachedStarts() { recentStarts.removeAll { !$0.hasReachedServer } }
}

/// The login that a load is sent with.
struct SentLogin: Sendable {
    /// The number of logins and sessions before it; see ``LoginSession``.
    let generation: Int
    /// Whether a load had succeeded with it when this was read, so that a refusal may mean that it has expired since.
    var isProven: Bool
}

/// What a refused load needs.
enum LoginNeed: Equatable {
    /// This relogin, by the generation of the login that it brings.
    case relogin(Int)
    /// A relogin that it may not start.
    case refused
    /// There is a newer login, or it fails with the last relogin, or waits for one that another load needs.
    case none
}

/// A load that waits for a relogin.
struct LoginWaiter: Sendable {
    let id: RequestID
    let place: any LoginPlace
    /// It waits to be sent: nothing has refused it with the current login.
    let isUnsent: Bool
    let continuation: CheckedContinuation<LoginSession.Outcome, Never>
    /// Until its place in the queue is reserved.
    var needsPlace = true
}

extension [LoginWaiter] {
    /// In the order in which they return to the queue.
    var inOrder: [LoginWaiter] { sorted { ($1.place.rank, $0.id) < ($0.place.rank, $1.id) } }
}

/// The place in the queue of a load that waits for a relogin.
protocol LoginPlace: AnyObject, Sendable {
    /// Loads of a higher rank return to the queue first, and those of one rank in the order of their IDs.
    var rank: Int { get }

    /// Keeps a place that was reserved meanwhile.
    func leaveForLogin()

    func reserve()

    /// Leaves the place, whether it is taken or reserved.
    func release()

    /// Keeps the loads with the same login that wait in the queue there until ``resumeLane()``.
    func holdLane()
    func resumeLane()
}
