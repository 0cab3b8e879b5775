import Synchronization

/// What receives the ending of a load.
enum EndingReceiver {
    /// The delegate of the request.
    case delegate
    /// A closure, which is a waiter.
    case closure
    /// An async call, which is a waiter and throws the error.
    case caller
    /// An async call of a group, which presents one error of its requests.
    case group(APIGroup)

    /// The receiver of a load that follows up: a call receives one ending, and an async one needs no delegate.
    var ofFollowUp: EndingReceiver {
        switch self {
        case .delegate, .closure: .delegate
        case .caller, .group: .caller
        }
    }
}

/// A caller that waits for the ending of a load.
struct LoadWaiter {
    let id: RequestID
    /// A reference cycle, which the ending of the load removes: a request that nothing else retains is not released before.
    let request: BaseAPIRequest
    /// What identifies it; `nil` for one that waits until the ending.
    let caller: AnyObject?
    let ended: @MainActor (Result<any Sendable, APIError>) -> Void
}

extension BaseAPIRequest {
    /// Joins a load that runs.
    ///
    /// A delegate is notified besides the waiters of the load, and then, as for a closure, its error is presented. A group
    /// presents the error of a load that an async call has begun.
    func join(_ id: RequestID, receiver: EndingReceiver) -> RequestID {
        switch receiver {
        case .delegate: receivers[id] = nil
        case .closure: if receivers[id] != nil { receivers[id] = .closure }
        case .group: if case .caller? = receivers[id] { receivers[id] = receiver }
        case .caller: break
        }
        return id
    }

    /// Removes and returns the receiver of a load.
    func takeReceiver(of id: RequestID) -> EndingReceiver {
        receivers.isEmpty ? .delegate : receivers.removeValue(forKey: id) ?? .delegate
    }

    /// Calls `ended` once with the outcome of a load that has not ended, and retains the request until then.
    func wait(
        for id: RequestID,
        as caller: AnyObject? = nil,
        _ ended: @escaping @MainActor (Result<any Sendable, APIError>) -> Void
    ) {
        waiters.append(LoadWaiter(id: id, request: self, caller: caller, ended: ended))
    }

    /// Removes a caller that may have left a load, which then does not retain the request for it.
    func removeWaiters(of caller: AnyObject) {
        guard !waiters.isEmpty else { return }
        waiters.removeAll { $0.caller === caller }
    }

    /// Removes the callers that wait for the ending of a load, in the order of their calls.
    func takeWaiters(of id: RequestID) -> [LoadWaiter] {
        guard !waiters.isEmpty else { return [] }
        defer { waiters.removeAll { $0.id == id } }
        return waiters.filter { $0.id == id }
    }

    /// Returns how a load ends for one of its callers; cancelling the task leaves the load.
    ///
    /// Retains the request until then.
    func ending(
        of id: RequestID,
        for caller: LoadCaller<Result<any Sendable, APIError>>
    ) async -> Result<any Sendable, APIError> {
        wait(for: id, as: caller) { caller.end(with: $0) }
        defer { removeWaiters(of: caller) }
        return await caller.outcome()
    }
}
/// An async call that waits for the outcome of a load, which it has begun or joined.
///
/// It leaves when its task is cancelled: the load is cancelled only with the last of those who want it.
final class LoadCaller<Outcome: Sendable>: Sendable {
    private struct State {
        var id: RequestID
        var hasLeft = false
        var hasEnded = false
        var waiter: CheckedContinuation<Outcome, Never>?
        /// The outcome, until it is awaited.
        var outcome: Outcome?
    }

    private let state: Mutex<State>
    private let proxy: APIProxy
    // The outcome of a call that leaves a load which others want.
    private let ifLeft: Outcome

    init(of id: RequestID, in proxy: APIProxy, ifLeft: Outcome) {
        state = Mutex(State(id: id))
        self.proxy = proxy
        self.ifLeft = ifLeft
    }

    /// Whether the call has no outcome yet.
    var isWaiting: Bool { state.withLock { !$0.hasEnded } }

    /// Waits for the outcome; cancelling the task leaves the load.
    func outcome() async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let outcome = state.take { state in
                    if state.outcome == nil { state.waiter = waiter }
                    return state.outcome
                }
                if let outcome { waiter.resume(returning: outcome) }
            }
        } onCancel: {
            leave()
        }
    }

    /// Ends the call, unless it has ended.
    func end(with outcome: Outcome) {
        let waiter = state.take { state -> CheckedContinuation<Outcome, Never>? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            if state.waiter == nil { state.outcome = outcome }
            return exchange(&state.waiter, with: nil)
        }
        waiter?.resume(returning: outcome)
    }

    /// Waits for another load, which this call has begun or joined; leaves it at once if the call has left.
    func replace(by id: RequestID) {
        let hasLeft = state.withLock { state in
            state.id = id
            return state.hasLeft
        }
        if hasLeft { leave(id) }
    }

    /// Ends the call as cancelled, and the load with it if no other caller and no delegate wants that.
    func leave() {
        let id = state.withLock { state in exchange(&state.hasLeft, with: true) ? nil : state.id }
        if let id { leave(id) }
    }

    private func leave(_ id: RequestID) {
        switch proxy.loads.leave(id) {
        // The ending of the load is that of the call.
        case .last(let load): proxy.cancel([load])
        case .others: end(with: ifLeft)
        case .ended: break
        }
    }
}
