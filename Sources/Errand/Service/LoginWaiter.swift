/// The login that a load is sent with.
struct SentLogin: Sendable {
    /// The number of logins and sessions before it; see ``LoginSession``.
    let generation: Int
    /// Whether a load had succeeded with it when this was read, so that a refusal may mean that it has expired since.
    let isProven: Bool
}

/// A load that waits for a relogin.
struct LoginWaiter: Sendable {
    let id: RequestID
    let place: (any LoginPlace)?
    let continuation: CheckedContinuation<LoginSession.Outcome, Never>
}

extension LoginWaiter: Comparable {
    /// Whether `lhs` returns to the queue before `rhs`.
    static func < (lhs: LoginWaiter, rhs: LoginWaiter) -> Bool {
        let (rank, other) = (lhs.place?.rank ?? 0, rhs.place?.rank ?? 0)
        return rank == other ? lhs.id < rhs.id : rank > other
    }

    static func == (lhs: LoginWaiter, rhs: LoginWaiter) -> Bool { lhs.id == rhs.id }
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
