import Errand
import Foundation
import Synchronization

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
    }

    typealias Waiter = CheckedContinuation<Outcome, Never>

    /// How an exchange is made.
    struct Exchange: Sendable {
        let sealing: TrafficSealing
        let service: APIService
        let environment: APIEnvironment
        let clock: any APIClock
    }

    private let state = Mutex(KeyState())

    /// The number of loads that wait for the running exchange.
    var waiterCount: Int { state.withLock(\.waiters.count) }

    /// Returns the key with this name for an answer that is sealed, unless it has been removed.
    func key(named keyID: String, forAnswerTo id: RequestID) -> SessionKey? {
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
    func key(
        for id: RequestID,
        _ makeExchange: @autoclosure () -> Exchange
    ) async throws(APIError) -> SessionKey {
        if let key = state.withLock(\.current) { return key }
        let exchange = makeExchange()
        while true {
            switch await outcome(id, of: state.withLock { $0.need(at: exchange.clock.uptime) }, exchange) {
            case .key(let key): return key
            case .failure(let error): throw error
            case .dropped: continue
            }
        }
    }

    /// Returns once an exchange has ended after the one for a key that the server has refused; starts one if necessary.
    ///
    /// - Throws: Why the exchange has failed, `security` for a load that has been replayed, `cancelled` when the calling task was
    ///   cancelled.
    func renew(after keyID: String, for id: RequestID, _ exchange: Exchange) async throws(APIError) {
        let step = state.withLock { $0.refuse(keyID, of: id, at: exchange.clock.uptime) }
        if case .failure(let error) = await outcome(id, of: step, exchange) { throw error }
        state.withLock { $0.willReplay(id) }
    }

    /// Removes all keys, and drops the running exchange.
    func forget() {
        let (closed, _) = state.take { ($0.close(), $0.reset()) }
        closed.cancel()
        for waiter in closed.waiters { waiter.resume(returning: .dropped) }
    }

    private func outcome(_ id: RequestID, of step: KeyState.Step, _ exchange: Exchange) async -> Outcome {
        switch step {
        case .done(let outcome): return outcome
        case .start(let run): start(run, exchange)
        case .wait: break
        }
        return await withCancellableContinuation(ifCancelled: .failure(APIError(.cancelled))) { waiter in
            state.withLock { state in
                guard state.isRunning else { return state.outcome }
                state.waiters[id] = waiter
                return nil
            }
        } remove: {
            state.take { $0.waiters.removeValue(forKey: id) }
        }
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
        } catch {
            return .failure(.ofExchange(error))
        }
    }

    private func finish(_ run: Int, with outcome: Outcome) {
        // The former outcome may hold an error of the app.
        let ended = state.take { state in state.isCurrent(run) ? (state.close(), state.end(with: outcome)) : nil }
        guard let (closed, _) = ended else { return }
        closed.cancel()
        for waiter in closed.waiters { waiter.resume(returning: outcome) }
    }
}

extension APIError {
    fileprivate static func ofExchange(_ reason: String) -> APIError {
        let error = SigningError(.keyExchangeFailed, reason: reason)
        return APIError(.security, reason: "the key exchange has failed: \(reason)", underlying: error)
    }

    /// Creates the error of the loads that wait for an exchange.
    fileprivate static func ofExchange(_ error: any Error) -> APIError {
        let prefix = "the key exchange has failed"
        switch error {
        case let error as APIError:
            let isOfNetwork = [.noNetwork, .timeout, .transport].contains(error.type)
            let reason = "\(prefix): \(error)"
            return APIError(isOfNetwork ? error.type : .security, reason: reason, underlying: error)
        case let error as SigningError:
            return APIError(.security, reason: "\(prefix): \(error)", underlying: error)
        default:
            return APIError(.security, reason: "\(prefix): \(Swift.type(of: error))", underlying: error)
        }
    }

    /// The error of a load that has been replayed with a new key, which the server has refused as well.
    fileprivate static var refusedAgain: APIError {
        let reason = "the server has refused the key of the replay as well"
        return APIError(.security, reason: reason, underlying: SigningError(.stale, reason: reason))
    }

    /// The error of loads that need one exchange too many.
    fileprivate static var tooManyExchanges: APIError {
        let seconds = KeyState.window.components.seconds
        return .ofExchange("\(KeyState.maxExpiries) of them in \(seconds) s did not help")
    }
}

/// The state of a ``KeySession``.
struct KeyState {
    /// What a load does that needs a key.
    enum Step {
        case start(Int)
        case wait
        case done(KeySession.Outcome)
    }

    struct Entry {
        let key: SessionKey
        let generation: Int
    }

    struct Closed: Sendable {
        let tasks: [Task<Void, Never>]
        let waiters: [KeySession.Waiter]

        func cancel() { for task in tasks { task.cancel() } }
    }

    private struct Run {
        let number: Int
        var tasks: [Task<Void, Never>] = []
    }

    /// More expired keys than this within ``window`` are a loop.
    static let maxExpiries = 5
    /// The time in which expired keys are counted.
    static let window = Duration.seconds(30)
    /// How many keys are kept for answers that are on their way.
    private static let maxEntries = 4

    /// The key to send with; `nil` when there is none yet, and when the server has refused it.
    private(set) var current: SessionKey?
    /// How the last exchange ended.
    private(set) var outcome = KeySession.Outcome.dropped
    var waiters: [RequestID: KeySession.Waiter] = [:]
    private var generation = 0
    private var entries: [Entry] = []
    /// The loads that are replayed, and in which generation; cancelled ones stay for two generations.
    private var replays: [RequestID: Int] = [:]
    private var expiries: [Duration] = []
    private var run: Run?
    private var lastRun = 0

    var isRunning: Bool { run != nil }

    func isCurrent(_ number: Int) -> Bool { run?.number == number }

    func entry(named id: String) -> Entry? { entries.last { $0.key.id == id } }

    /// Returns what a load does that has no key.
    mutating func need(at uptime: Duration) -> Step {
        if let current { return .done(.key(current)) }
        return isRunning ? .wait : open(at: uptime)
    }

    /// Returns what a load does whose key the server has refused.
    mutating func refuse(_ keyID: String, of id: RequestID, at uptime: Duration) -> Step {
        guard replays.removeValue(forKey: id) == nil else { return .done(.failure(.refusedAgain)) }
        guard !isRunning else { return .wait }
        guard entry(named: keyID)?.generation == generation else { return .done(outcome) }
        if current != nil {
            current = nil
            expiries.append(uptime)
        }
        return open(at: uptime)
    }

    mutating func willReplay(_ id: RequestID) { replays[id] = generation }

    mutating func forgetReplay(of id: RequestID) {
        if !replays.isEmpty { replays[id] = nil }
    }

    private mutating func open(at uptime: Duration) -> Step {
        expiries.removeAll { uptime - $0 >= Self.window }
        guard expiries.count <= Self.maxExpiries else { return .done(.failure(.tooManyExchanges)) }
        lastRun += 1
        run = Run(number: lastRun)
        return .start(lastRun)
    }

    mutating func setTasks(_ tasks: [Task<Void, Never>], of number: Int) -> Bool {
        guard isCurrent(number) else { return false }
        run?.tasks = tasks
        return true
    }

    /// Ends the running exchange, and returns who waits for it.
    mutating func close() -> Closed {
        defer { (run, waiters) = (nil, [:]) }
        return Closed(tasks: run?.tasks ?? [], waiters: Array(waiters.values))
    }

    /// Begins the next generation.
    ///
    /// - Returns: The former outcome.
    mutating func end(with outcome: KeySession.Outcome) -> KeySession.Outcome {
        generation += 1
        replays = replays.filter { $0.value >= generation - 2 }
        defer { self.outcome = outcome }
        guard case .key(let key) = outcome else { return self.outcome }
        current = key
        entries = entries.filter { $0.key.id != key.id }.suffix(Self.maxEntries - 1)
        entries.append(Entry(key: key, generation: generation))
        return self.outcome
    }

    /// Removes all keys.
    ///
    /// - Returns: The former outcome.
    mutating func reset() -> KeySession.Outcome {
        generation += 1
        (current, entries, expiries) = (nil, [], [])
        defer { outcome = .dropped }
        return outcome
    }
}

/// The session keys of a ``TrafficSealing``: those of each environment.
final class KeySessions: Sendable {
    private let sessions = Mutex<[APIEnvironment: KeySession]>([:])

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
