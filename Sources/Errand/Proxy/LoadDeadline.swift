import Synchronization

extension LoadContext {
    /// Returns what `work` returns, unless `limit` passes first, which runs from `turn`, or from now if that is `nil`.
    ///
    /// - Throws: What `work` throws; `timeout` when `limit` has passed. `work` is cancelled then, and not waited for, because it
    ///   may be in code of the app that ignores the cancellation.
    func withDeadline<Value: Sendable>(
        _ limit: Duration?,
        after turn: TurnSignal? = nil,
        _ work: @escaping @Sendable () async throws(APIError) -> Value
    ) async throws(APIError) -> Value {
        guard let limit else { return try await work() }
        let race = DeadlineRace<Value>()
        let outcome = await race.outcome(of: work) { [clock] in
            if let turn, await !turn.wait() { return nil }
            let elapsed = turn?.elapsed(at: clock.uptime) ?? .zero
            if elapsed < limit, (try? await clock.sleep(for: limit - elapsed)) == nil { return nil }
            return APIError(TransportError(.timeout, "the deadline of the load passed"))
        }
        return try outcome.get()
    }
}

/// Signals the first turn of a load, from which its deadline runs.
///
/// A load that may share an exchange begins its work before its turn; a load that is sent again has had its turn.
final class TurnSignal: Sendable {
    private struct State {
        var isOpen = false
        var waiter: CheckedContinuation<Bool, Never>?
        var start: Duration?
    }

    private let state = Mutex(State())

    /// Signals the turn; further calls have no effect.
    func open() {
        let waiter = state.take { state in
            state.isOpen = true
            return exchange(&state.waiter, with: nil)
        }
        waiter?.resume(returning: true)
    }

    /// Returns the time since the turn, which is the first time at which this is called.
    func elapsed(at uptime: Duration) -> Duration {
        state.withLock { state in
            let start = state.start ?? uptime
            state.start = start
            return uptime - start
        }
    }

    /// Waits for the turn; one task may at a time.
    ///
    /// - Returns: Whether it has come; `false` when the task was cancelled.
    func wait() async -> Bool {
        await withCancellableContinuation(ifCancelled: false) { continuation in
            state.withLock { state in
                guard !state.isOpen else { return true }
                state.waiter = continuation
                return nil
            }
        } remove: {
            state.take { exchange(&$0.waiter, with: nil) }
        }
    }
}

/// The work of a load and the timer of its deadline, of which the first to end counts.
private final class DeadlineRace<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, APIError>

    private struct State {
        var continuation: CheckedContinuation<Outcome, Never>?
        var tasks: [Task<Void, Never>] = []
        var isOver = false
    }

    private let state = Mutex(State())

    /// Returns the outcome of `work`, or the error of `timer` if that is first; `nil` of `timer` does not count.
    func outcome(
        of work: @escaping @Sendable () async throws(APIError) -> Value,
        timer: @escaping @Sendable () async -> APIError?
    ) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.continuation = continuation }
                start(work, timer)
                // Cancelled before there were tasks: the handler found nothing to cancel.
                if Task.isCancelled { cancelTasks() }
            }
        } onCancel: {
            cancelTasks()
        }
    }

    private func start(
        _ work: @escaping @Sendable () async throws(APIError) -> Value,
        _ timer: @escaping @Sendable () async -> APIError?
    ) {
        let tasks = [
            Task {
                do throws(APIError) { end(with: .success(try await work())) } catch { end(with: .failure(error)) }
            },
            Task {
                if let error = await timer() { end(with: .failure(error)) }
            },
        ]
        let isOver = state.withLock { state in
            state.tasks = tasks
            return state.isOver
        }
        if isOver { cancelTasks() }
    }

    private func end(with outcome: Outcome) {
        let continuation = state.take { state in
            state.isOver = true
            return exchange(&state.continuation, with: nil)
        }
        cancelTasks()
        continuation?.resume(returning: outcome)
    }

    private func cancelTasks() {
        for task in state.withLock(\.tasks) { task.cancel() }
    }
}
