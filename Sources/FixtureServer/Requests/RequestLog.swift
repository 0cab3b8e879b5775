import Errand
import Synchronization

/// The record of a server's requests and connections, and of the tests that wait for them.
final class RequestLog: Sendable {
    struct State {
        fileprivate(set) var requests: [RecordedRequest] = []
        fileprivate(set) var totalRequests = 0
        fileprivate(set) var openConnections = 0
        fileprivate(set) var totalConnections = 0
        fileprivate var taken = 0
        fileprivate var waiters: [Int: Waiter] = [:]
        fileprivate var lastWaiter = 0
    }

    /// Checks the state, under the lock; returns a function that resumes the test when its condition holds.
    fileprivate typealias Waiter = @Sendable (inout State, _ isFinished: Bool) -> (@Sendable () -> Void)?

    private let state = Mutex(State())
    private let limit: Int
    private let inbox: Inbox

    /// Creates a log that keeps at least the last `limit` requests; 0 keeps none.
    init(limit: Int, inbox: Inbox) {
        self.limit = limit
        self.inbox = inbox
    }

    func read<Value: Sendable>(_ property: (State) -> Value) -> Value {
        state.withLock { property($0) }
    }

    func removeRequests() {
        change { state in
            state.requests.removeAll()
            state.taken = 0
        }
    }

    func record(_ request: RecordedRequest) {
        change { state in
            state.totalRequests += 1
            guard limit > 0 else { return }
            state.requests.append(request)
            state.trim(to: limit)
        }
    }

    func connectionOpened() {
        change { state in
            state.openConnections += 1
            state.totalConnections += 1
        }
    }

    func connectionClosed() {
        change { $0.openConnections -= 1 }
    }

    /// Waits for the oldest request that was not taken yet; returns `nil` when none arrives in time.
    func takeRequest(timeout: Duration) async -> RecordedRequest? {
        await wait(timeout) { state in
            guard state.taken < state.requests.count else { return nil }
            defer { state.taken += 1 }
            return state.requests[state.taken]
        }
    }

    /// Waits until `condition` holds, and returns whether it did in time.
    func wait(_ timeout: Duration, until condition: @escaping @Sendable (State) -> Bool) async -> Bool {
        await wait(timeout) { condition($0) ? true : nil } ?? false
    }

    /// Ends every wait.
    func close() {
        for wake in endedWaiters(where: { _ in true }) { wake() }
    }

    private func change(_ body: (inout State) -> Void) {
        let resumptions = state.withLock { state in
            body(&state)
            return state.waiters.isEmpty ? [] : state.wakeWaiters()
        }
        for wake in resumptions { wake() }
    }

    private func wait<Value: Sendable>(
        _ timeout: Duration,
        _ attempt: @escaping @Sendable (inout State) -> Value?
    ) async -> Value? {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                add(id) { state, isFinished in
                    let value = attempt(&state)
                    guard value != nil || isFinished else { return nil }
                    return { continuation.resume(returning: value) }
                }
                let isTimed = inbox.post(.run(after: timeout) { self.end(id) })
                if !isTimed || Task.isCancelled { end(id) }
            }
        } onCancel: {
            end(id)
        }
    }

    private func add(_ id: Int, _ waiter: @escaping Waiter) {
        change { $0.waiters[id] = waiter }
    }

    private func end(_ id: Int) {
        for wake in endedWaiters(where: { $0 == id }) { wake() }
    }

    private func endedWaiters(where isIncluded: (Int) -> Bool) -> [@Sendable () -> Void] {
        state.withLock { state in
            state.waiters.keys.filter(isIncluded).compactMap { id in
                state.waiters.removeValue(forKey: id)?(&state, true)
            }
        }
    }
}

extension RequestLog.State {
    /// Returns functions that resume the tests whose condition holds, in the order in which they began to wait.
    fileprivate mutating func wakeWaiters() -> [@Sendable () -> Void] {
        waiters.keys.sorted().compactMap { id in
            guard let wake = waiters[id]?(&self, false) else { return nil }
            waiters[id] = nil
            return wake
        }
    }

    /// Removes the oldest requests when there are twice as many as `limit`.
    fileprivate mutating func trim(to limit: Int) {
        guard requests.count >= 2 * limit else { return }
        let surplus = requests.count - limit
        requests.removeFirst(surplus)
        taken = max(0, taken - surplus)
    }
}
