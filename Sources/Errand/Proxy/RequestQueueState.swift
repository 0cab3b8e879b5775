/// The state of a ``RequestQueue``.
///
/// Requests wait for a host only while that host or the whole is at its limit, so that the order is kept.
struct RequestQueueState {
    /// What happens when a waiting request is admitted.
    enum Waiter: Sendable {
        /// Starts a load, which has no task before: most waiters are of this kind, which costs little memory.
        case start(@Sendable () -> Void)
        /// Resumes a task.
        case resume(CheckedContinuation<Bool, Never>)

        func proceed() {
            switch self {
            case .start(let start): start()
            case .resume(let continuation): continuation.resume(returning: true)
            }
        }
    }

    private let limits: QueueLimits
    private let capacity: TransportCapacity
    private var admitted = 0
    /// The connections of the admitted requests: one for each request, or for each host that multiplexes.
    private var connections = 0
    private var hosts: [String: HostQueue] = [:]
    /// The hosts that multiplex; a bounded number of them.
    private var multiplexed: Set<String> = []
    private var lastSequence: UInt64 = 0

    init(limits: QueueLimits, capacity: TransportCapacity) {
        self.limits = QueueLimits(perHost: limits.perHost, total: limits.total)
        var capacity = capacity
        capacity.connectionsPerHost = max(1, capacity.connectionsPerHost)
        capacity.connections = max(1, capacity.connections)
        capacity.streamsPerConnection = max(1, capacity.streamsPerConnection)
        self.capacity = capacity
    }

    /// The number of requests that wait.
    var waitingCount: Int { hosts.values.reduce(0) { $0 + $1.count } }

    /// Admits a request if the limits allow it.
    mutating func admit(_ lane: QueueLane) -> Bool {
        if let index = hosts.index(forKey: lane.host) {
            guard hasRoom(for: hosts.values[index]) else { return false }
        } else {
            let host = HostQueue(isMultiplexed: multiplexed.contains(lane.host))
            guard hasRoom(for: host) else { return false }
            hosts[lane.host] = host
        }
        enter(lane.host)
        return true
    }

    /// Returns a number greater than all before.
    mutating func nextSequence() -> UInt64 {
        lastSequence += 1
        return lastSequence
    }

    /// Adds a request that waits.
    mutating func insert(_ waiter: Waiter, sequence: UInt64, in lane: QueueLane) {
        if hosts[lane.host] == nil { hosts[lane.host] = HostQueue(isMultiplexed: multiplexed.contains(lane.host)) }
        hosts[lane.host]?[lane.priority].insert(waiter, sequence: sequence)
    }

    /// Removes a request, unless its turn has come.
    mutating func remove(_ sequence: UInt64, from lane: QueueLane) -> Waiter? {
        defer { dropIfUnused(lane.host) }
        return hosts[lane.host]?[lane.priority].remove(sequence)
    }

    /// Ends the admission of a request.
    mutating func leave(_ lane: QueueLane) {
        admitted -= 1
        change(lane.host) { $0.admitted -= 1 }
        dropIfUnused(lane.host)
    }

    /// Admits the first waiter whose host has room.
    mutating func admitWaiter() -> Waiter? {
        guard let (host, front) = first(), let waiter = hosts[host]?[front.priority].removeFirst() else { return nil }
        enter(host)
        return waiter
    }

    /// Admits and returns all waiters for which there is room: one connection to a host that multiplexes carries several.
    mutating func admitWaiters() -> [Waiter] {
        var waiters: [Waiter] = []
        while let waiter = admitWaiter() { waiters.append(waiter) }
        return waiters
    }

    /// Records whether a host multiplexes its connections.
    ///
    /// - Returns: Whether that changes what may be admitted.
    mutating func record(isMultiplexed: Bool, of name: String) -> Bool {
        guard let host = hosts[name], host.isMultiplexed != isMultiplexed else { return false }
        change(name) { $0.isMultiplexed = isMultiplexed }
        if multiplexed.count >= Self.rememberedHosts { multiplexed = [] }
        if isMultiplexed { multiplexed.insert(name) } else { multiplexed.remove(name) }
        return isMultiplexed
    }

    private static let rememberedHosts = 1_000

    private mutating func enter(_ host: String) {
        admitted += 1
        change(host) { $0.admitted += 1 }
    }

    private mutating func change(_ host: String, _ change: (inout HostQueue) -> Void) {
        guard let index = hosts.index(forKey: host) else { return }
        connections -= hosts.values[index].connections
        change(&hosts.values[index])
        connections += hosts.values[index].connections
    }

    private func hasRoom(for host: HostQueue) -> Bool {
        guard admitted < limits.total else { return false }
        let needsConnection = !host.isMultiplexed || host.admitted == 0
        guard !needsConnection || connections < capacity.connections else { return false }
        let carried = host.isMultiplexed ? capacity.streamsPerConnection : capacity.connectionsPerHost
        return host.admitted < min(limits.perHost, carried)
    }

    private func first() -> (host: String, front: HostQueue.Front)? {
        var best: (host: String, front: HostQueue.Front)?
        for (name, host) in hosts {
            guard let front = host.front, best.map({ front < $0.front }) != false, hasRoom(for: host) else { continue }
            best = (name, front)
        }
        return best
    }

    private mutating func dropIfUnused(_ name: String) {
        guard let index = hosts.index(forKey: name), hosts.values[index].isUnused else { return }
        hosts.remove(at: index)
    }
}

/// The requests to one host.
private struct HostQueue {
    /// The first waiter.
    struct Front: Comparable {
        let priority: RequestPriority
        let sequence: UInt64

        static func < (lhs: Front, rhs: Front) -> Bool {
            lhs.priority == rhs.priority ? lhs.sequence < rhs.sequence : lhs.priority > rhs.priority
        }
    }

    /// Whether one connection carries many of them.
    var isMultiplexed: Bool
    /// The number of requests on the wire.
    var admitted = 0
    private var userInitiated = WaiterList<RequestQueueState.Waiter>()
    private var normal = WaiterList<RequestQueueState.Waiter>()
    private var background = WaiterList<RequestQueueState.Waiter>()

    init(isMultiplexed: Bool) {
        self.isMultiplexed = isMultiplexed
    }

    /// The number of connections that the admitted requests use.
    var connections: Int { isMultiplexed ? min(1, admitted) : admitted }

    /// The number of requests that wait.
    var count: Int { userInitiated.count + normal.count + background.count }

    /// Whether no request waits or is on the wire.
    var isUnused: Bool { admitted == 0 && count == 0 }

    var front: Front? {
        if let sequence = userInitiated.first { return Front(priority: .userInitiated, sequence: sequence) }
        if let sequence = normal.first { return Front(priority: .normal, sequence: sequence) }
        return background.first.map { Front(priority: .background, sequence: $0) }
    }

    subscript(priority: RequestPriority) -> WaiterList<RequestQueueState.Waiter> {
        get {
            switch priority {
            case .userInitiated: userInitiated
            case .normal: normal
            case .background: background
            }
        }
        _modify {
            switch priority {
            case .userInitiated: yield &userInitiated
            case .normal: yield &normal
            case .background: yield &background
            }
        }
    }
}
