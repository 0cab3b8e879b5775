/// Lets a few at a time through, first come, first served; the others wait without a thread.
package final class Turnstile: Sendable {
    private struct State: Sendable {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The one that all tests of this process share which use sockets, clocks or much of the processor.
    package static let tests = Turnstile(letting: 2)

    private let state: Guarded<State>

    /// Creates a turnstile that lets `count` through at a time.
    package init(letting count: Int) {
        state = Guarded(State(free: count))
    }

    /// Waits for a turn and runs `body` in it.
    package func pass<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let mayPass = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if mayPass { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
