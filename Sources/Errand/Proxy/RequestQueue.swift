import Synchronization

/// The requests that wait for the transport: by priority, then first in, first out.
///
/// It is the only queue of a load: the transport starts at once what the queue admits.
final class RequestQueue: Sendable {
    private let state: Mutex<RequestQueueState>

    init(limits: QueueLimits, capacity: TransportCapacity) {
        state = Mutex(RequestQueueState(limits: limits, capacity: capacity))
    }

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock(\.waitingCount) }

    /// Admits a request at once, or calls `start` when it is admitted.
    ///
    /// - Returns: The number to pass to ``remove(_:from:)``; `nil` when the request is admitted, and `start` is not called.
    func enter(_ lane: QueueLane, start: @escaping @Sendable () -> Void) -> UInt64? {
        state.withLock { state in
            guard !state.admit(lane) else { return nil }
            let sequence = state.nextSequence()
            state.insert(.start(start), sequence: sequence, in: lane)
            return sequence
        }
    }

    /// Removes a request that ``enter(_:start:)`` has let wait; a no-op when its turn has come.
    func remove(_ sequence: UInt64, from lane: QueueLane) {
        // The waiter is released after the lock.
        _ = state.take { $0.remove(sequence, from: lane) }
    }

    /// Admits a request, unless it has to wait.
    func admitAtOnce(_ lane: QueueLane) -> Bool { state.withLock { $0.admit(lane) } }

    /// Waits until a request is admitted.
    ///
    /// - Returns: Whether it is; `false` when the task was cancelled.
    func admission(to lane: QueueLane) async -> Bool {
        let sequence = state.withLock { $0.admit(lane) ? nil : $0.nextSequence() }
        guard let sequence else { return true }
        return await withCancellableContinuation(ifCancelled: false) { continuation in
            state.withLock { state in
                if state.admit(lane) { return true }
                state.insert(.resume(continuation), sequence: sequence, in: lane)
                return nil
            }
        } remove: {
            guard case .resume(let continuation) = state.take({ $0.remove(sequence, from: lane) }) else { return nil }
            return continuation
        }
    }

    /// Ends the admission of a request, and admits those for which there is room then.
    func leave(_ lane: QueueLane) {
        let waiters = state.take { state in
            state.leave(lane)
            return state.admitWaiters()
        }
        for waiter in waiters { waiter.proceed() }
    }

    /// Records whether a host multiplexes its connections, and admits what that allows.
    func record(isMultiplexed: Bool, of host: String) {
        let waiters = state.take { state in
            state.record(isMultiplexed: isMultiplexed, of: host) ? state.admitWaiters() : []
        }
        for waiter in waiters { waiter.proceed() }
    }
}

/// Where a request waits: those to one host share its limit.
struct QueueLane: Sendable {
    let host: String
    let priority: RequestPriority
}

/// A load's admission to the transport, which it holds or has to wait for.
struct QueueSlot: Sendable {
    private let queue: RequestQueue
    /// Where it waits; `nil` is always admitted.
    private let lane: QueueLane?
    private var isHeld: Bool

    /// The host in whose lane it waits.
    var host: String? { lane?.host }

    init(_ queue: RequestQueue, lane: QueueLane?, isHeld: Bool = false) {
        self.queue = queue
        self.lane = lane
        self.isHeld = isHeld && lane != nil
    }

    /// Waits for the admission, unless it is held.
    ///
    /// - Throws: `cancelled` when the task was cancelled.
    mutating func acquire() async throws(APIError) {
        guard !isHeld, let lane else { return }
        isHeld = await queue.admission(to: lane)
        guard isHeld else { throw APIError(.cancelled) }
    }

    /// Takes the admission, unless there is none now.
    ///
    /// - Returns: Whether it is held.
    mutating func acquireAtOnce() -> Bool {
        if !isHeld, let lane { isHeld = queue.admitAtOnce(lane) }
        return isHeld || lane == nil
    }

    /// Ends the admission, if it is held.
    mutating func release() {
        guard isHeld, let lane else { return }
        isHeld = false
        queue.leave(lane)
    }
}

/// How many requests of a proxy may be on the wire at a time; the others queue.
///
/// The transport's ``TransportCapacity`` applies as well. A queued request sends nothing, can be cancelled like any other, and
/// neither its `timeout` nor its `deadline` runs.
public struct QueueLimits: Sendable {
    /// The limit for one host and port; 64 by default.
    public var perHost: Int
    /// The limit for all hosts together; 256 by default.
    public var total: Int

    /// Creates limits, each at least 1.
    public init(perHost: Int = 64, total: Int = 256) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }
}

/// The order in which queued requests are sent; those of one priority and host are sent in the order in
/// which they entered the queue.
public enum RequestPriority: Int, Sendable, CaseIterable, Comparable {
    /// After all others, such as a prefetch.
    case background
    /// The default.
    case normal
    /// Before all others, such as what a user waits for.
    case userInitiated

    /// Whether `lhs` is sent after `rhs`.
    public static func < (lhs: RequestPriority, rhs: RequestPriority) -> Bool { lhs.rawValue < rhs.rawValue }
}
