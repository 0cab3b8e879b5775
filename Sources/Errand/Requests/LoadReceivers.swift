/// What receives the ending of a load.
enum EndingReceiver {
    case delegate
    case closure
    /// Async calls, which throw the error; of those of groups, one presents it.
    case caller(of: [APIGroup] = [])
}

/// A caller that waits for the ending of a load.
struct LoadWaiter {
    let id: RequestID
    /// A reference cycle, which the ending of the load removes: a request that nothing else retains is not released before.
    let request: BaseAPIRequest
    /// `nil` for one that waits until the ending.
    let caller: AnyObject?
    /// In which it has called; a load that it has joined may be part of a relogin.
    let scope = LoadScope()
    let ended: @MainActor (Result<any Sendable, APIError>) -> Void
}

extension BaseAPIRequest {
    /// For a delegate, and for a closure, the error of the load is presented; a group presents that of one for an async call.
    func join(_ id: RequestID, receiver: EndingReceiver) -> RequestID {
        switch receiver {
        case .delegate: receivers[id] = nil
        case .closure: if receivers[id] != nil { receivers[id] = .closure }
        case .caller(let groups):
            // Those that there are may leave the load before its ending.
            if case .caller(let others)? = receivers[id] { receivers[id] = .caller(of: others + groups) }
        }
        return id
    }

    /// Retains the request until the ending.
    func wait(
        for id: RequestID,
        as caller: AnyObject? = nil,
        _ ended: @escaping @MainActor (Result<any Sendable, APIError>) -> Void
    ) {
        waiters.append(LoadWaiter(id: id, request: self, caller: caller, ended: ended))
    }

    /// A load that the caller may have left does not retain the request for it any more.
    func removeWaiters(of caller: AnyObject) { waiters.removeAll { $0.caller === caller } }
}

/// A call that waits for the response.
typealias ResponseCaller = LoadCaller<Result<any Sendable, APIError>>

/// An async call that waits for a load; it leaves when its task is cancelled, and cancels the load if no other wants it.
final class LoadCaller<Outcome: Sendable>: Sendable {
    private struct State {
        /// `nil` until the load has begun.
        var id: RequestID?
        var hasLeft = false
        var waiter: CheckedContinuation<Outcome, Never>?
        var outcome: Outcome?
    }

    private let state: Lock<State>
    private let proxy: APIProxy
    // Of a call that leaves a load which others want.
    private let ifLeft: Outcome

    init(of id: RequestID? = nil, in proxy: APIProxy, ifLeft: Outcome) {
        state = Lock(State(id: id))
        self.proxy = proxy
        self.ifLeft = ifLeft
    }

    var isWaiting: Bool { state.withLock { $0.outcome == nil } }

    func outcome() async -> Outcome {
        await withCancellableContinuation(ifCancelled: ifLeft) { waiter in
            state.withLock { state in
                if state.outcome == nil { state.waiter = waiter }
                return state.outcome
            }
        } remove: {
            leave()
            return nil
        }
    }

    func end(with outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            return exchange(&state.waiter, with: nil)
        }
        waiter?.resume(returning: outcome)
    }

    /// Waits for this load from now on; leaves it at once if the call has left.
    func wait(for id: RequestID) {
        let hasLeft = state.withLock { state in
            state.id = id
            return state.hasLeft
        }
        if hasLeft { leave(id) }
    }

    func leave() {
        let id = state.withLock { state in exchange(&state.hasLeft, with: true) ? nil : state.id }
        if let id { leave(id) }
    }

    private func leave(_ id: RequestID) {
        // The ending of a load that no other wants is that of the call.
        proxy.leave(id) { end(with: ifLeft) }
    }
}
