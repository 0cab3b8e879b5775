import Foundation

/// The state of a ``LoginSession``.
struct LoginState {
    /// One relogin that is under way.
    private struct Run {
        let number: Int
        /// When a renewal date has begun it; `nil` when a load needs it because the service has refused that load.
        var earlyStart: Date?
        var work: Task<LoginSession.Outcome, Never>?
        var hasBegun = false
        var hasOutcome = false
        var isCounted = false
        var hasSignedIn = false
        /// Holds the loads with the same login in the queue.
        var holder: (any LoginPlace)?
    }

    /// What a relogin that has ended leaves behind.
    struct Closed {
        var work: Task<LoginSession.Outcome, Never>?
        var waiters: [LoginWaiter] = []
        var holder: (any LoginPlace)?
    }

    private(set) var generation = 0
    /// How the relogin before ``generation`` ended.
    private(set) var outcome: LoginSession.Outcome = .success(())
    /// The newest load when ``outcome`` was set.
    private var newestAtOutcome = RequestID.newest
    /// Whether a load has succeeded with the login of ``generation``.
    private(set) var isProven = false
    var waiters: [RequestID: LoginWaiter] = [:]
    /// The waiters that have no place in the queue yet.
    var unplacedWaiters: Set<RequestID> = []
    /// The waiters that have not been sent, because they began during the relogin.
    var unsentWaiters: Set<RequestID> = []
    /// The relogins that wait until the handler returns from an earlier one.
    var turns: [Int: CheckedContinuation<Bool, Never>] = [:]
    /// Whether `sessionDidExpire` has been called for the session.
    var hasSessionExpired = false
    private var run: Run?
    private var lastRun = 0
    private var isHandlerBusy = false
    private var limit = LoginLimit()
    private var renewalDate: Date?
    /// Renewal dates up to this one begin no further relogin.
    private var spentUntil: Date?

    var isRunning: Bool { run != nil }

    /// The login that a load is sent with now.
    var current: SentLogin { SentLogin(generation: generation, isProven: isProven) }

    /// Whether a relogin runs that a refused load has needed.
    var isNeeded: Bool { run.map { $0.earlyStart == nil } ?? false }

    /// Records that a load has succeeded.
    mutating func didSucceed(in generation: Int) {
        if generation == self.generation { isProven = true }
    }

    private mutating func nextGeneration() {
        generation += 1
        isProven = false
    }

    /// Whether the server has neither granted nor refused the last login.
    var isUndecided: Bool { outcome.error.map { $0.type != .loginExpired } ?? false }

    /// What a load does that was refused with a login of some generation.
    enum Step {
        /// Wait for the relogin that runs.
        case wait
        /// Nothing: a relogin since then has ended like this.
        case ended(LoginSession.Outcome)
        /// Hold its lane, and open a relogin.
        case open
        /// Wait for the relogin that it has opened.
        case opened(Int)
    }

    /// Returns the step of a refused load, which opens a relogin only if that is necessary and the lane of its place is held.
    mutating func step(after generation: Int, for place: (any LoginPlace)?, isHeld: Bool) -> Step {
        guard !isRunning else {
            if self.generation == generation { requireRun() }
            return .wait
        }
        // The outcome of a relogin without a response of the server does not apply to a load that did not wait for it.
        guard self.generation == generation || isUndecided else { return .ended(outcome) }
        return isHeld ? .opened(open(place)) : .open
    }

    /// Begins a relogin and returns its number; `holder` holds the loads with the same login in the queue until it is closed.
    mutating func open(earlyStart: Date? = nil, _ holder: (any LoginPlace)?) -> Int {
        lastRun += 1
        run = Run(number: lastRun, earlyStart: earlyStart, holder: holder)
        return lastRun
    }

    /// Ends a relogin.
    mutating func close() -> Closed {
        (unsentWaiters, unplacedWaiters) = ([], [])
        let run = exchange(&self.run, with: nil)
        let waiters = Array(exchange(&self.waiters, with: [:]).values)
        return Closed(work: run?.work, waiters: waiters, holder: run?.holder)
    }

    /// Records that a login request outside of relogins has succeeded: there is a session that can expire, and neither the
    /// outcome of an earlier relogin nor the failure of one that is under way applies to it.
    ///
    /// - Returns: The former outcome.
    mutating func didSignIn() -> LoginSession.Outcome {
        hasSessionExpired = false
        run?.hasSignedIn = true
        limit.removeUnreachedStarts()
        return exchange(&outcome, with: .success(()))
    }

    /// Resets the session with all its relogins.
    ///
    /// - Returns: The former outcome.
    mutating func reset() -> LoginSession.Outcome {
        nextGeneration()
        hasSessionExpired = false
        limit = LoginLimit()
        (renewalDate, spentUntil) = (nil, nil)
        return exchange(&outcome, with: .success(()))
    }

    /// Ends a relogin that has succeeded when all of its waiters have a place in the queue; until then, returns those that need
    /// one.
    mutating func closePlaced(_ number: Int) -> (closed: Closed, unplaced: [LoginWaiter]) {
        guard isCurrent(number) else { return (Closed(), []) }
        let unplaced = unplacedWaiters.compactMap { waiters[$0] }
        unplacedWaiters = []
        return unplaced.isEmpty ? (close(), []) : (Closed(), unplaced)
    }

    /// Returns why a load that has waited in the queue for the last relogin fails without being sent.
    func refusal(of id: RequestID) -> APIError? {
        id <= newestAtOutcome ? outcome.error : nil
    }

    func isCurrent(_ number: Int) -> Bool { run?.number == number }

    /// Whether a login request has succeeded since a relogin has begun, which is under way.
    func hasSignedIn(since number: Int) -> Bool { isCurrent(number) && run?.hasSignedIn == true }

    /// Takes the handler for a relogin, unless it has not returned from an earlier one.
    mutating func takeHandler() -> Bool {
        defer { isHandlerBusy = true }
        return !isHandlerBusy
    }

    /// Passes the handler on to the newest relogin that waits for it.
    mutating func releaseHandler() -> CheckedContinuation<Bool, Never>? {
        let next = turns.keys.max().flatMap { turns.removeValue(forKey: $0) }
        isHandlerBusy = next != nil
        return next
    }

    /// Returns whether the handler may be called for a relogin: it is the current one and has no outcome.
    mutating func begin(_ number: Int) -> Bool {
        guard isCurrent(number), run?.hasOutcome == false else { return false }
        run?.hasBegun = true
        return true
    }

    /// Why a relogin has passed its deadline.
    var delay: String {
        guard run?.hasBegun == true else { return "the relogin took too long: the one before has not returned" }
        guard !unsentWaiters.isEmpty else { return "the relogin took too long" }
        return "the relogin took too long; loads that began meanwhile wait for it, and one that its handler waits for, "
            + "but begins in a detached task, must have isLoginRequest"
    }

    /// Counts a login that refused loads need, unless there were too many recently.
    mutating func mayStart(_ number: Int, at uptime: Duration) -> Bool {
        if isCurrent(number), run?.earlyStart != nil { return true }
        guard limit.addStart(at: uptime) else { return false }
        if isCurrent(number) { run?.isCounted = true }
        return true
    }

    mutating func setWork(_ work: Task<LoginSession.Outcome, Never>, of number: Int) -> Bool {
        guard isCurrent(number) else { return false }
        run?.work = work
        return true
    }

    /// Sets the outcome of a relogin, unless its deadline has passed or its session has ended.
    ///
    /// - Returns: The former outcome; `nil` when nothing was changed.
    mutating func setOutcome(
        _ outcome: LoginSession.Outcome,
        of number: Int
    ) -> LoginSession.Outcome? {
        guard isCurrent(number), run?.hasOutcome == false else { return nil }
        run?.hasOutcome = true
        nextGeneration()
        if case .success = outcome {
            hasSessionExpired = false
            limit.removeUnreachedStarts()
        }
        newestAtOutcome = .newest
        let former = exchange(&self.outcome, with: outcome)
        if isUndecided, run?.isCounted == true { limit.newestDidNotReachServer() }
        return former
    }
}

// MARK: Early renewal

extension LoginState {
    /// The date from which a relogin begins before a request is sent; `nil` for never.
    var dueDate: Date? {
        guard let renewalDate, let spentUntil, renewalDate <= spentUntil else { return renewalDate }
        return nil
    }

    /// Records the handler's renewal date.
    mutating func setRenewalDate(_ date: Date?) {
        renewalDate = date
    }

    /// Begins a relogin if the renewal date has come and none runs, and returns its number.
    mutating func openIfDue(at date: Date, _ holder: (any LoginPlace)?) -> Int? {
        isDue(at: date) ? open(earlyStart: date, holder) : nil
    }

    /// Whether the renewal date has come and no relogin runs.
    func isDue(at date: Date) -> Bool {
        guard !isRunning, let dueDate else { return false }
        return dueDate <= date
    }

    /// Records that a load of the current generation was refused, so that it fails if the relogin that runs does; the date
    /// that has begun the relogin begins no other.
    mutating func requireRun() {
        guard let earlyStart = run?.earlyStart else { return }
        spentUntil = earlyStart
        run?.earlyStart = nil
    }

    /// Ends a relogin that was begun by the renewal date, if that date has changed and has not come yet.
    mutating func closeUnlessDue(_ number: Int, at date: Date) -> Closed? {
        guard isCurrent(number), run?.earlyStart != nil, renewalDate.map({ $0 > date }) != false else { return nil }
        return close()
    }

    /// Ends a relogin that was begun by the renewal date and has failed, unless a load needs it; no date up to its beginning
    /// begins another.
    mutating func closeFailedEarly(_ number: Int) -> Closed? {
        guard isCurrent(number), let earlyStart = run?.earlyStart, run?.hasOutcome == false else { return nil }
        spentUntil = earlyStart
        return close()
    }

    /// Records the renewal date after a relogin that has succeeded; a date that has come begins no other.
    mutating func didRenew(_ number: Int, to renewalDate: Date?, at date: Date) {
        guard isCurrent(number) else { return }
        self.renewalDate = renewalDate
        // Not the later one of both: the clock may have been set back.
        spentUntil = date
    }
}

/// Counts the relogins that refused loads need, of which too many in a short time are a loop.
struct LoginLimit {
    /// How many relogins one load may need; more than one only if others have succeeded with the one before.
    static let maxOfLoad = 5
    /// More relogins than this within ``window`` are a loop.
    static let maxStarts = 5
    static let window = Duration.seconds(30)

    private var recentStarts: [(uptime: Duration, hasReachedServer: Bool)] = []

    /// Counts a relogin, unless there were too many recently.
    ///
    /// - Returns: Whether it may start.
    mutating func addStart(at uptime: Duration) -> Bool {
        recentStarts.removeAll { uptime - $0.uptime >= Self.window }
        guard recentStarts.count < Self.maxStarts else { return false }
        recentStarts.append((uptime, true))
        return true
    }

    /// Records that the server has neither granted nor refused the newest relogin.
    mutating func newestDidNotReachServer() {
        if let newest = recentStarts.indices.last { recentStarts[newest].hasReachedServer = false }
    }

    /// Removes the relogins that did not reach the server, once a login has.
    mutating func removeUnreachedStarts() { recentStarts.removeAll { !$0.hasReachedServer } }
}
