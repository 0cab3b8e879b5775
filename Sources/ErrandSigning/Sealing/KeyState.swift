import Errand
import Foundation

struct KeyState {
    /// What a load does that needs a key.
    enum Step {
        case start(Int)
        case wait
        case done(KeySession.Outcome)
    }

    struct Closed: Sendable {
        let tasks: [Task<Void, Never>]
        let waiters: [KeySession.Waiter]

        func end(with outcome: KeySession.Outcome) {
            for task in tasks { task.cancel() }
            for waiter in waiters { waiter.resume(returning: outcome) }
        }
    }

    /// More expired keys than this within ``window`` are a loop.
    static let maxExpiries = 5
    /// The time in which expired keys are counted.
    static let window = Duration.seconds(30)
    /// How many keys are kept for responses that are on their way.
    private static let maxEntries = 4

    /// The key to send with; `nil` when there is none yet, and when the server has refused it.
    private(set) var current: SessionKey?
    /// How the last exchange ended.
    private(set) var outcome = KeySession.Outcome.dropped
    var waiters: [RequestID: KeySession.Waiter] = [:]
    private var generation = 0
    private var entries: [(key: SessionKey, generation: Int)] = []
    /// The loads that are replayed, and in which generation; cancelled ones stay for two generations.
    private var replays: [RequestID: Int] = [:]
    private var expiries: [Duration] = []
    /// Of the running exchange, which ends the generation; `nil` when none runs.
    private var tasks: [Task<Void, Never>]?

    var isRunning: Bool { tasks != nil }

    /// Whether the exchange runs that was started in a generation.
    func isCurrent(_ run: Int) -> Bool { isRunning && run == generation }

    func entry(named id: String) -> (key: SessionKey, generation: Int)? { entries.last { $0.key.id == id } }

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
        tasks = []
        return .start(generation)
    }

    mutating func setTasks(_ tasks: [Task<Void, Never>], of run: Int) -> Bool {
        guard isCurrent(run) else { return false }
        self.tasks = tasks
        return true
    }

    /// Ends the running exchange, and returns who waits for it; the next generation is to begin.
    mutating func close() -> Closed {
        defer { (tasks, waiters) = (nil, [:]) }
        return Closed(tasks: tasks ?? [], waiters: Array(waiters.values))
    }

    /// Begins the next generation.
    ///
    /// - Returns: The former outcome.
    mutating func end(with outcome: KeySession.Outcome) -> KeySession.Outcome {
        generation += 1
        replays = replays.filter { $0.value >= generation - 2 }
        if case .key(let key) = outcome {
            current = key
            entries = entries.filter { $0.key.id != key.id }.suffix(Self.maxEntries - 1)
            entries.append((key, generation))
        }
        return exchange(&self.outcome, with: outcome)
    }

    /// Removes all keys.
    ///
    /// - Returns: The former outcome.
    mutating func reset() -> KeySession.Outcome {
        generation += 1
        (current, entries, expiries) = (nil, [], [])
        return exchange(&outcome, with: .dropped)
    }
}
