import Errand
import Foundation

/// The session keys of one environment: it runs one exchange for all loads that need it.
///
/// As in the relogin of a service, a *generation* counts the exchanges that have ended, successfully or not. When the server
/// refuses a key and a later generation exists, the exchange in between applies to the load, and none is started.
final class KeySession: Sendable {
    /// What waiters are resumed with.
    enum Outcome: Sendable {
        case key(SessionKey)
        case failure(APIError)
        /// The exchange no longer counts.
        case dropped
        /// Its own request was cancelled, not the loads that wait for it.
        case cancelled(APIError)
    }

    typealias Waiter = CheckedContinuation<Outcome, Never>

    struct Exchange: Sendable {
        let sealing: TrafficSealing
        let service: APIService
        /// The send that needs the key.
        let context: AdapterContext
        var environment: APIEnvironment { context.environment }
        var clock: any APIClock { context.clock }
    }

    private let state = Lock(KeyState())

    /// The number of loads that wait for the running exchange.
    var waiterCount: Int { state.withLock(\.waiters.count) }

    /// Returns the key with this name for a response that is sealed, unless it has been removed.
    func key(named keyID: String, forResponseTo id: RequestID) -> SessionKey? {
        state.withLock { state in
            state.forgetReplay(of: id)
            return state.entry(named: keyID)?.key
        }
    }

    /// Records that the server has not refused the key of a load.
    func forgetReplay(of id: RequestID) { state.withLock { $0.forgetReplay(of: id) } }

    /// Returns the key to send with, once no exchange runs; starts one if there is none.
    ///
    /// - Throws: Why the exchange has failed, `cancelled` when the calling task was cancelled.
    func key(for id: RequestID, _ exchange: Exchange) async throws(APIError) -> SessionKey {
        if let key = state.withLock(\.current) { return key }
        var hasBeenCancelled = false
        // Not without end, when each exchange is dropped by what it leads to, such as a sign-out.
        for _ in 0...KeyState.maxExpiries {
            let uptime = exchange.clock.uptime
            switch await outcome(id, of: state.withLock { $0.need(at: uptime) }, exchange) {
            case .key(let key): return key
            case .failure(let error): throw error
            case .dropped: continue
            case .cancelled(let error):
                guard !hasBeenCancelled else { throw error }
                hasBeenCancelled = true
            }
        }
        throw .ofExchange("the keys were removed during each exchange")
    }

    /// Returns once an exchange has ended after the one for a key that the server has refused; starts one if necessary.
    ///
    /// - Throws: Why the exchange has failed, `security` for a load that has been replayed, `cancelled` when the calling task was
    ///   cancelled.
    func renew(after keyID: String, for id: RequestID, _ exchange: Exchange) async throws(APIError) {
        let uptime = exchange.clock.uptime
        let step = state.withLock { $0.refuse(keyID, of: id, at: uptime) }
        if case .failure(let error) = await outcome(id, of: step, exchange) { throw error }
        state.withLock { $0.willReplay(id) }
    }

    /// Removes all keys, and drops the running exchange.
    func forget() {
        let (closed, _) = state.withLock { ($0.close(), $0.reset()) }
        closed.end(with: .dropped)
    }

    private func outcome(_ id: RequestID, of step: KeyState.Step, _ exchange: Exchange) async -> Outcome {
        if case .done(let outcome) = step { return outcome }
        exchange.context.willWait(for: .key, limit: exchange.sealing.exchangeTimeout)
        if case .start(let run) = step { start(run, exchange) }
        let cancelled = Outcome.failure(APIError(.cancelled))
        let outcome = await withCancellableContinuation(ifCancelled: cancelled) { waiter in
            state.withLock { state in
                guard state.isRunning else { return state.outcome }
                state.waiters[id] = waiter
                return nil
            }
        } remove: {
            state.withLock { $0.waiters.removeValue(forKey: id) }
        }
        if case .key = outcome { exchange.context.didRenew(.key) }
        return outcome
    }

    // MARK: One exchange

    private func start(_ run: Int, _ exchange: Exchange) {
        // Loads of any priority wait for it.
        let work = Task(priority: .userInitiated) { finish(run, with: await result(of: exchange)) }
        let deadline = Task {
            guard (try? await exchange.clock.sleep(for: exchange.sealing.exchangeTimeout)) != nil else { return }
            let limit = exchange.sealing.exchangeTimeout
            finish(run, with: .failure(.ofExchange("it has taken longer than \(limit)")))
        }
        let isCurrent = state.withLock { $0.setTasks([work, deadline], of: run) }
        if !isCurrent { for task in [work, deadline] { task.cancel() } }
    }

    private func result(of exchange: Exchange) async -> Outcome {
        var service = exchange.service
        service.environment = exchange.environment
        do {
            let key = try await service.withLoginRequests(of: self) {
                try await exchange.sealing.keyExchange.sessionKey()
            }
            try exchange.sealing.check(key)
            return .key(key)
        } catch  where error is CancellationError || (error as? APIError)?.type == .cancelled {
            return .cancelled(.ofExchange(error))
        } catch {
            return .failure(.ofExchange(error))
        }
    }

    private func finish(_ run: Int, with outcome: Outcome) {
        // The former outcome may hold an error of the app.
        let ended = state.withLock { state in state.isCurrent(run) ? (state.close(), state.end(with: outcome)) : nil }
        ended?.0.end(with: outcome)
    }
}

extension KeySession: CustomReflectable {
    /// Nothing, because `dump` prints the keys otherwise.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The session keys of a ``TrafficSealing``: those of each environment.
final class KeySessions: Sendable {
    private let sessions = Lock<[APIEnvironment: KeySession]>([:])

    /// Returns the session of an environment, the same one each time.
    func session(of environment: APIEnvironment) -> KeySession {
        sessions.withLock { sessions in
            if let session = sessions[environment] { return session }
            let session = KeySession()
            sessions[environment] = session
            return session
        }
    }

    func forget() {
        for session in sessions.withLock({ Array($0.values) }) { session.forget() }
    }
}
