/// Counts requests and retries of the last minute, so that the retries of all loads together stay few.
final class RetryBudget: Sendable {
    private struct Count {
        var requests = 0
        var retries = 0
    }

    /// Two halves of a minute, of which the older is dropped as a whole.
    private struct State {
        var half: Int64 = 0
        var current = Count()
        var previous = Count()

        mutating func move(to half: Int64) {
            guard half != self.half else { return }
            previous = half == self.half + 1 ? current : Count()
            current = Count()
            self.half = half
        }
    }

    private let state = Lock(State())

    func countRequest(at uptime: Duration) {
        state.withLock { state in
            state.move(to: uptime.components.seconds / 30)
            state.current.requests += 1
        }
    }

    func takeRetry(of policy: RetryPolicy, at uptime: Duration) -> Bool {
        state.withLock { state in
            state.move(to: uptime.components.seconds / 30)
            let requests = state.current.requests + state.previous.requests
            let retries = state.current.retries + state.previous.retries
            let allowed = max(Double(policy.minRetriesPerMinute), Double(requests) * policy.budget)
            guard Double(retries) < allowed else { return false }
            state.current.retries += 1
            return true
        }
    }
}
