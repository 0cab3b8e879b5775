import Synchronization

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
