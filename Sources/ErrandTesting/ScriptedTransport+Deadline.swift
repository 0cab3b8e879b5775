import Errand
import Synchronization

extension ScriptedTransport {
    typealias Outcome = Result<HTTPResponse, TransportError>

    /// Returns the result of `work`, or throws when `timeout` passes on `clock` or the task is cancelled before.
    ///
    /// A script that ignores its cancel continues, and its result is discarded.
    // Not inlined, which would increase the memory of each exchange in progress.
    @inline(never) static func race(
        _ work: @escaping @Sendable () async throws -> HTTPResponse,
        _ timeout: Duration,
        _ clock: any APIClock
    ) async throws(TransportError) -> HTTPResponse {
        let finish = FirstOutcome()
        let script = Task {
            do {
                finish.set(.success(try await work()))
            } catch {
                finish.set(.failure(failure(error)))
            }
        }
        let alarm = Task {
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            finish.set(.failure(TransportError(.timeout, "the deadline of the whole exchange passed")))
        }
        defer {
            script.cancel()
            alarm.cancel()
        }
        return try await finish.value.get()
    }
}

/// Keeps the first outcome and ignores all later ones.
private final class FirstOutcome: Sendable {
    private struct State {
        var outcome: ScriptedTransport.Outcome?
        var waiter: CheckedContinuation<ScriptedTransport.Outcome, Never>?
    }

    private let state = Mutex(State())

    var value: ScriptedTransport.Outcome {
        get async {
            let cancelled = ScriptedTransport.Outcome.failure(TransportError(.cancelled, "cancelled in its script"))
            return await withCancellableContinuation(ifCancelled: cancelled) { waiter in
                state.withLock { state in
                    guard state.outcome == nil else { return state.outcome }
                    state.waiter = waiter
                    return nil
                }
            } remove: {
                takeWaiter()
            }
        }
    }

    func set(_ outcome: ScriptedTransport.Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<ScriptedTransport.Outcome, Never>? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: outcome)
    }

    private func takeWaiter() -> CheckedContinuation<ScriptedTransport.Outcome, Never>? {
        state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
    }
}
