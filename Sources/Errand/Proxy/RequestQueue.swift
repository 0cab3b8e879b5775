import Synchronization

/// The requests that wait for the transport: by priority, then in the order in which their loads began.
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
    /// - Returns: Whether it is admitted, and `start` is not called.
    func enter(_ place: QueuePlace, start: @escaping @Sendable (QueueAdmission) -> Void) -> Bool {
        state.withLock { state in
            if state.admit(place) { return true }
            state.insert(.start(start, since: SystemClock.uptime), at: place)
            return false
        }
    }

    /// Admits a request, unless it has to wait.
    func admitAtOnce(_ place: QueuePlace) -> Bool { state.withLock { $0.admit(place) } }

    /// Waits until a request is admitted.
    ///
    /// - Returns: Whether it is; `false` when the task was cancelled.
    func admission(to place: QueuePlace) async -> Bool {
        guard !admitAtOnce(place) else { return true }
        return await withCancellableContinuation(ifCancelled: false) { continuation in
            state.withLock { state in
                if state.admit(place) { return true }
                state.insert(.resume(continuation), at: place)
                return nil
            }
        } remove: {
            guard case .resume(let continuation) = state.take({ $0.remove(place) }) else { return nil }
            return continuation
        }
    }

    /// Admits a request or has it wait, so that none that begins later is admitted before it; its load then calls
    /// ``admission(to:)`` or ``leave(_:)``.
    ///
    /// An admission that it has already is kept by the next ``leaveUnlessReserved(_:)``.
    func reserve(_ place: QueuePlace) {
        state.withLock { $0.reserve(place) }
    }

    /// Ends the admission of a request, unless its place was reserved since it was admitted.
    func leaveUnlessReserved(_ place: QueuePlace) {
        let waiters = state.take { $0.leaveUnlessKept(place) ? $0.admitWaiters() : [] }
        proceed(waiters)
    }

    /// Records that the transport has a request, which keeps its admission then, also after a cancel.
    ///
    /// - Returns: Whether it is admitted; ``withdraw(_:)`` may have ended its admission.
    func setSent(at place: QueuePlace) -> Bool { state.withLock { $0.setSent(true, at: place) } }

    /// Ends the admission of a request, or its wait, and admits those for which there is room then.
    func leave(_ place: QueuePlace) {
        let (waiters, removed) = state.take { state in
            state.leave(place) ? (state.admitWaiters(), nil) : ([], state.remove(place))
        }
        removed?.end()
        proceed(waiters)
    }

    /// Ends the waits and the admissions of loads that have ended, except of those whose requests the transport has.
    ///
    /// None of them is admitted in the place of another.
    func withdraw(_ loads: [(number: UInt64, waitingIn: QueueLane?)]) {
        let (removed, waiters) = state.take { state in
            let removed = loads.compactMap { load in
                load.waitingIn.flatMap { state.remove(QueuePlace(number: load.number, lane: $0)) }
            }
            // Not with `||`, which would leave the admissions after the first one.
            let hasRoom = loads.reduce(false) { state.withdraw($1.number) || $0 }
            return (removed, hasRoom ? state.admitWaiters() : [])
        }
        for waiter in removed { waiter.end() }
        proceed(waiters)
    }

    /// Records that the transport has returned the response of a request, and admits what that allows.
    ///
    /// - Parameters:
    ///   - place: Where the request has waited.
    ///   - isMultiplexed: Whether the host multiplexes its connections; `nil` if that is not known.
    ///   - keepsPlace: Whether the request keeps its admission, which a cancel may end then.
    func didReceive(at place: QueuePlace, isMultiplexed: Bool?, keepsPlace: Bool) {
        let waiters = state.take { state in
            let host = place.lane.host
            var hasRoom = isMultiplexed.map { state.record(isMultiplexed: $0, of: host) } ?? false
            if keepsPlace { _ = state.setSent(false, at: place) } else if state.leave(place) { hasRoom = true }
            return hasRoom ? state.admitWaiters() : []
        }
        proceed(waiters)
    }

    /// Admits no request of a service to a host until `delay` has passed; a pause that ends later stays as it is.
    func pause(_ lane: QueueLane, for delay: Duration, by clock: any APIClock) {
        guard state.withLock({ $0.pause(lane.key, until: clock.uptime + delay) }) else { return }
        Task { [weak self] in
            while let end = self?.endOfPause(lane.key, at: clock.uptime) {
                // Nothing cancels the task, so a clock that throws has failed.
                guard (try? await clock.sleep(for: end - clock.uptime)) != nil else { return self?.endPause(lane.key) }
            }
        }
    }

    /// Admits no request that waits in a lane until ``resume(_:)``, which follows each hold.
    func hold(_ lane: QueueLane) { state.withLock { $0.hold(lane.key) } }

    /// Ends a hold.
    func resume(_ lane: QueueLane) {
        let waiters = state.take { $0.release(lane.key) ? $0.admitWaiters() : [] }
        proceed(waiters)
    }

    /// Returns when the pause ends; `nil` when it has ended, which admits what has waited for that.
    private func endOfPause(_ key: QueueLane.Key, at uptime: Duration) -> Duration? {
        guard let end = state.withLock({ $0.endOfPause(key) }) else { return nil }
        guard end <= uptime else { return end }
        endPause(key)
        return nil
    }

    private func endPause(_ key: QueueLane.Key) {
        let waiters = state.take { state in
            state.resume(key)
            return state.admitWaiters()
        }
        proceed(waiters)
    }

    private func proceed(_ waiters: [(waiter: RequestQueueState.Waiter, lane: QueueLane)]) {
        for (waiter, lane) in waiters { waiter.proceed(in: lane) }
    }
}

/// Where a request waits: those to one host share its limit, and those of one service to it a pause.
struct QueueLane: Sendable {
    /// What a pause applies to.
    struct Key: Hashable {
        let host: String
        let service: ObjectIdentifier?
    }

    let key: Key
    let priority: RequestPriority

    var host: String { key.host }

    init(key: Key, priority: RequestPriority) {
        (self.key, self.priority) = (key, priority)
    }

    init(host: String, service: ObjectIdentifier? = nil, priority: RequestPriority) {
        self.init(key: Key(host: host, service: service), priority: priority)
    }
}

/// The first admission of a load; not captured by what starts it, because hundreds of thousands may wait.
struct QueueAdmission: Sendable {
    /// Where it has waited; `nil` for a load that does not queue.
    let lane: QueueLane?
    let queueTime: Duration
}

/// Where a request waits, and its order there.
struct QueuePlace: Sendable {
    /// Lower numbers go first; no two requests have the same one.
    let number: UInt64
    let lane: QueueLane
}

extension RequestID {
    /// The order of a load in the queue.
    var queueNumber: UInt64 { rawValue << 1 }

    /// The order of the exchange that this load has begun, and that others may share.
    var sharedQueueNumber: UInt64 { rawValue << 1 | 1 }
}

/// A load's admission to the transport, which it holds or has to wait for.
///
/// A class, because each asynchronous function of a load would have a copy of a structure.
final class QueueSlot: Sendable {
    private let queue: RequestQueue
    /// Where it waits; `nil` is always admitted.
    private let place: QueuePlace?

    /// How long its load has waited for the first admission; `nil` where that is not known.
    let queueTime: Duration?

    init(_ queue: RequestQueue, number: UInt64, lane: QueueLane?, queueTime: Duration? = nil) {
        self.queue = queue
        self.queueTime = queueTime
        place = lane.map { QueuePlace(number: number, lane: $0) }
    }

    /// Waits for the admission, unless it is held.
    ///
    /// - Throws: `cancelled` when the task was cancelled.
    func acquire() async throws(APIError) {
        guard let place else { return }
        guard await queue.admission(to: place) else { throw APIError(.cancelled) }
    }

    /// Takes the admission, unless there is none now.
    ///
    /// - Returns: Whether it is held.
    func acquireAtOnce() -> Bool { place.map(queue.admitAtOnce) ?? true }

    /// Records that the transport has the request, which holds the admission until ``release()``, also after a cancel.
    ///
    /// - Throws: `cancelled` when a cancel has ended the admission.
    func send() throws(APIError) {
        guard let place, !queue.setSent(at: place) else { return }
        throw APIError(.cancelled)
    }

    /// Records that the transport has returned the response, and ends the admission unless the load keeps it.
    func didReceive(isMultiplexed: Bool?, keepsPlace: Bool) {
        if let place { queue.didReceive(at: place, isMultiplexed: isMultiplexed, keepsPlace: keepsPlace) }
    }

    /// Ends the admission, if it is held, and the wait for it.
    func release() {
        if let place { queue.leave(place) }
    }
}

extension QueueSlot: LoginPlace {
    var rank: Int { place?.lane.priority.rawValue ?? 0 }

    func leaveForLogin() {
        if let place { queue.leaveUnlessReserved(place) }
    }

    func reserve() {
        if let place { queue.reserve(place) }
    }

    func holdLane() {
        if let place { queue.hold(place.lane) }
    }

    func resumeLane() {
        if let place { queue.resume(place.lane) }
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
/// which their loads began.
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
