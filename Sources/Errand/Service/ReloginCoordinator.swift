import Synchronization

/// Lets one relogin run for all the requests of a service that need it.
///
/// A *generation* counts the relogins that have ended, well or not. A request remembers the generation it was sent in; when
/// it comes back expired and a later generation is there, somebody else's relogin has already answered for it.
final class ReloginCoordinator: Sendable {
    typealias Outcome = Result<Void, APIError>

    private struct State {
        var generation = 0
        var outcome: Outcome = .success(())
        var isRunning = false
        var waiters: [RequestID: CheckedContinuation<Outcome, Never>] = [:]
    }

    private let state = Mutex(State())

    /// The generation to send in, once no relogin runs.
    ///
    /// - Throws: `loginExpired` when the relogin failed, `cancelled` when the calling task was cancelled.
    func ready(_ id: RequestID) async throws(APIError) -> Int {
        if let generation = state.withLock({ $0.isRunning ? nil : $0.generation }) { return generation }
        try await wait(id, else: .success(())).get()
        return state.withLock(\.generation)
    }

    /// Makes sure that a relogin has ended after `generation`, by starting one if need be.
    ///
    /// - Throws: `loginExpired` when it failed, `cancelled` when the calling task was cancelled.
    func renew(_ id: RequestID, after generation: Int, for service: APIService) async throws(APIError) {
        let (mustStart, outcome) = state.withLock { state -> (Bool, Outcome?) in
            guard state.generation == generation else { return (false, state.isRunning ? nil : state.outcome) }
            defer { state.isRunning = true }
            return (!state.isRunning, nil)
        }
        if let outcome { return try outcome.get() }
        if mustStart { start(service, in: generation) }
        try await wait(id).get()
    }

    private func wait(_ id: RequestID, else idle: Outcome? = nil) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> Outcome? in
                    guard !Task.isCancelled else { return .failure(APIError(.cancelled)) }
                    guard state.isRunning else { return idle ?? state.outcome }
                    state.waiters[id] = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.resume(returning: .failure(APIError(.cancelled)))
        }
    }

    private func start(_ service: APIService, in generation: Int) {
        let work = Task { await Self.run(service) }
        let deadline = Task {
            guard (try? await Task.sleep(for: service.reloginTimeout)) != nil else { return }
            work.cancel()
            let error = APIError(.loginExpired, service: service, reason: "the relogin took too long")
            await finish(.failure(error), of: service, in: generation)
        }
        Task {
            await finish(work.value, of: service, in: generation)
            deadline.cancel()
        }
    }

    private static func run(_ service: APIService) async -> Outcome {
        do {
            try await service.reloginHandler?.relogin()
            return .success(())
        } catch {
            return .failure(APIError(.loginExpired, service: service, underlying: error))
        }
    }

    private func finish(_ outcome: Outcome, of service: APIService, in generation: Int) async {
        let isFirst = state.withLock { state in
            guard state.isRunning, state.generation == generation else { return false }
            state.generation += 1
            state.outcome = outcome
            return true
        }
        guard isFirst else { return }
        if case .failure(let error) = outcome { await service.reloginHandler?.sessionDidExpire(error) }
        let waiters = state.withLock { state in
            state.isRunning = false
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}
