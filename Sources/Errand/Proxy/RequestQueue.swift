/// The requests that wait for the transport: by priority, then in the order in which their loads began.
///
/// It is the only queue of a load: the transport starts at once what the queue admits.
final class RequestQueue: Sendable {
    private let state: Lock<RequestQueueState>

    init(limits: QueueLimits, capacity: TransportCapacity) {
        state = Lock(RequestQueueState(limits: limits, capacity: capacity))
    }

    var waitingCount: Int { state.withLock(\.waitingCount) }

    /// Admits those that wait if `change` returns that there may be room.
    private func update(_ change: (inout sending RequestQueueState) -> Bool) {
        let waiters = state.withLock { change(&$0) ? $0.admitWaiters() : [] }
        for (waiter, lane) in waiters { waiter.proceed(in: lane) }
    }

    /// Returns whether it is admitted at once, and `start` is not called.
    func enter(_ place: QueuePlace, start: @escaping @Sendable (QueueAdmission) -> Void) -> Bool {
        state.withLock { state in
            if state.admit(place) { return true }
            state.insert(.start(start, since: SystemClock.uptime), at: place)
            return false
        }
    }
    func admitAtOnce(_ place: QueuePlace) -> Bool { state.withLock { $0.admit(place) } }

    /// Returns the lane in which it was admitted; `nil` when the task was cancelled.
    ///
    /// `wish` is read once it waits, because it may have changed since `place` was made.
    func admission(
        to place: QueuePlace,
        didQueue: () -> Void = {},
        wish: () -> QueueWish = { (nil, false) }
    ) async -> QueueLane? {
        guard !admitAtOnce(place) else { return place.lane }
        return await withCancellableContinuation(ifCancelled: nil) { continuation in
            let admitted = state.withLock { state -> QueueLane?? in
                if state.admit(place) { return place.lane }
                state.insert(.resume(continuation), at: place)
                return nil
            }
            if admitted == nil {
                didQueue()
                fulfill(wish, at: place)
            }
            return admitted
        } remove: {
            guard case .resume(let continuation) = state.withLock({ $0.remove(place) }) else { return nil }
            return continuation
        }
    }

    /// Admits a request or has it wait, so that none that begins later is admitted before it.
    ///
    /// An admission that it has already is kept by the next ``leaveUnlessReserved(_:)``, unless the request takes it before.
    func reserve(_ place: QueuePlace) { state.withLock { $0.reserve(place) } }
    func leaveUnlessReserved(_ place: QueuePlace) { update { $0.leaveUnlessKept(place) } }

    /// Moves a request that waits to the priority of `place`; returns whether there is one.
    func move(_ place: QueuePlace) -> Bool { state.withLock { $0.move(place) } }

    /// Until the wish is that of the last move: who changes it later moves the request as well.
    func fulfill(_ wish: () -> QueueWish, at place: QueuePlace) {
        var place = place
        while true {
            let (lane, needsNoPlace) = wish()
            if needsNoPlace { return admitAnyway(place.number) }
            guard let lane, lane != place.lane else { return }
            place = QueuePlace(number: place.number, lane: lane)
            guard move(place) else { return }
        }
    }

    /// Admits a request that waits although there is no room, once no pause holds it back.
    func admitAnyway(_ number: UInt64) { update { $0.setNeedsNoRoom(number) } }

    /// Keeps the admission also after a cancel; returns whether there is one, which ``withdraw(_:)`` may have ended.
    func setSent(at place: QueuePlace) -> Bool { state.withLock { $0.setSent(true, at: place) } }

    /// Ends the admission, or the wait for it.
    func leave(_ place: QueuePlace) {
        var removed: RequestQueueState.Waiter?
        update { state in
            if state.leave(place.number) { return true }
            removed = state.remove(place)
            return false
        }
        removed?.end()
    }

    /// Ends the waits and the admissions of loads that have ended, unless the transport has their requests.
    ///
    /// None of them is admitted in the place of another.
    func withdraw(_ loads: [(number: UInt64, waitingIn: QueueLane?)]) {
        var removed: [RequestQueueState.Waiter] = []
        update { state in
            removed = loads.compactMap { load in
                load.waitingIn.flatMap { state.remove(QueuePlace(number: load.number, lane: $0)) }
            }
            // Not with `||`, which would leave the admissions after the first one.
            return loads.reduce(false) { state.withdraw($1.number) || $0 }
        }
        for waiter in removed { waiter.end() }
    }

    /// Admits none that waits until ``endStop()``, while several loads are cancelled one after the other.
    func stop() { state.withLock { $0.stops += 1 } }
    func endStop() {
        update { state in
            state.stops -= 1
            return true
        }
    }

    /// A cancel may end an admission that is kept.
    func didReceive(at place: QueuePlace, isMultiplexed: Bool?, keepsPlace: Bool) {
        update { state in
            let hasMoreRoom = isMultiplexed.map { state.record(isMultiplexed: $0, of: place.lane.host) } ?? false
            guard keepsPlace else { return state.leave(place.number) || hasMoreRoom }
            _ = state.setSent(false, at: place)
            return hasMoreRoom
        }
    }

    /// A pause that ends later stays as it is.
    ///
    /// Retains `login`, whose identity is that of the lane: another one at its address would be paused as well.
    func pause(_ lane: QueueLane, for delay: Duration, by clock: any APIClock, of login: some AnyObject & Sendable) {
        let end = clock.uptime + delay
        guard state.withLock({ $0.pause(lane.key, until: end) }) else { return }
        Task { [weak self] in
            defer { withExtendedLifetime(login) {} }
            while let rest = self?.restOfPause(lane.key, at: clock.uptime) {
                // Nothing cancels the task, so a clock that throws has failed.
                guard (try? await clock.sleep(for: rest)) != nil else {
                    self?.update { $0.pauses.removeValue(forKey: lane.key) != nil }
                    return
                }
            }
        }
    }

    /// Ends a pause that is over.
    private func restOfPause(_ key: QueueLane.Key, at uptime: Duration) -> Duration? {
        var rest: Duration?
        update { state in
            guard let end = state.pauses[key], end > uptime else { return state.pauses.removeValue(forKey: key) != nil }
            rest = end - uptime
            return false
        }
        return rest
    }

    /// The next user may not be the one who has made too many requests.
    func endPauses(of services: [some AnyObject]) {
        let services = services.map(ObjectIdentifier.init)
        update { state in
            let paused = state.pauses.keys.filter { key in key.service.map(services.contains) == true }
            for key in paused { state.pauses.removeValue(forKey: key) }
            return !paused.isEmpty
        }
    }

    /// Each hold is followed by ``resume(_:)``.
    func hold(_ lane: QueueLane) { state.withLock { $0.holds[lane.key, default: 0] += 1 } }
    func resume(_ lane: QueueLane) { update { $0.endHold(of: lane.key) } }
}

/// Requests wait only while their host or the whole is at its limit, or their lane is paused, so that the order is kept.
struct RequestQueueState {
    /// What happens when a waiting request is admitted.
    enum Waiter: Sendable {
        /// A load without a task: most waiters are of this kind, which costs little memory.
        case start(@Sendable (QueueAdmission) -> Void, since: Duration)
        case resume(CheckedContinuation<QueueLane?, Never>)
        /// The task finds the admission.
        case reserved

        func proceed(in lane: QueueLane) {
            switch self {
            case .start(let start, let uptime):
                start((lane, SystemClock.uptime - uptime))
            case .resume(let continuation): continuation.resume(returning: lane)
            case .reserved: break
            }
        }

        func end() {
            if case .resume(let continuation) = self { continuation.resume(returning: nil) }
        }
    }

    private struct Admission {
        let host: String
        /// Whether the transport has it.
        var isSent = false
        /// Whether it is kept when its load leaves to wait for a login that it has already.
        var isKept = false
    }

    private let limits: QueueLimits
    private let capacity: TransportCapacity
    private var admissions: [UInt64: Admission] = [:]
    /// One for each admitted request, or for each host that multiplexes.
    private var connections = 0
    /// How many requests to each host are admitted.
    private var hosts: [String: Int] = [:]
    /// The requests that wait, of each lane and priority.
    private var lines: [QueueLane: WaiterList<Waiter>] = [:]
    /// Those of them that wait for a pause alone.
    private var roomless: Set<UInt64> = []
    /// The uptime when each pause ends.
    fileprivate(set) var pauses: [QueueLane.Key: Duration] = [:]
    /// The number of holds of each lane, whose requests wait while a relogin runs.
    fileprivate(set) var holds: [QueueLane.Key: Int] = [:]
    fileprivate(set) var stops = 0
    /// Those with admitted requests, and a bounded number of others.
    private var multiplexed: Set<String> = []

    init(limits: QueueLimits, capacity: TransportCapacity) {
        (self.limits, self.capacity) = (QueueLimits(perHost: limits.perHost, total: limits.total), capacity)
    }

    var waitingCount: Int { lines.values.reduce(0) { $0 + $1.count } }

    mutating func admit(_ place: QueuePlace) -> Bool {
        if let index = admissions.index(forKey: place.number) {
            admissions.values[index].isKept = false
            return true
        }
        guard stops == 0, pauses[place.lane.key] == nil, hasRoom(for: place.lane.host) else { return false }
        // Its own reservation, which a hold of another load has kept in the line, would be a second admission.
        _ = remove(place)
        add(place.number, of: place.lane.host)
        return true
    }

    /// Returns whether the request waits.
    mutating func setNeedsNoRoom(_ number: UInt64) -> Bool {
        let isWaiting = lines.values.contains { $0.contains(number) }
        if isWaiting { roomless.insert(number) }
        return isWaiting
    }

    /// Replaces a reservation at the place.
    mutating func insert(_ waiter: Waiter, at place: QueuePlace) {
        lines[place.lane, default: WaiterList()].insert(waiter, sequence: place.number)
    }

    mutating func move(_ place: QueuePlace) -> Bool {
        let needsNoRoom = roomless.contains(place.number)
        guard let waiter = remove(place) else { return false }
        insert(waiter, at: place)
        if needsNoRoom { roomless.insert(place.number) }
        return true
    }

    /// Whatever its priority is by now.
    mutating func remove(_ place: QueuePlace) -> Waiter? {
        guard !lines.isEmpty else { return nil }
        if let waiter = remove(place.number, in: place.lane) { return waiter }
        var lane = place.lane
        for priority in RequestPriority.allCases {
            lane.priority = priority
            if let waiter = remove(place.number, in: lane) { return waiter }
        }
        return nil
    }

    private mutating func remove(_ number: UInt64, in lane: QueueLane) -> Waiter? {
        guard let index = lines.index(forKey: lane) else { return nil }
        defer { if lines.values[index].count == 0 { lines.remove(at: index) } }
        guard let waiter = lines.values[index].remove(number) else { return nil }
        roomless.remove(number)
        return waiter
    }

    mutating func setSent(_ isSent: Bool, at place: QueuePlace) -> Bool {
        guard let index = admissions.index(forKey: place.number) else { return false }
        admissions.values[index].isSent = isSent
        return true
    }

    /// Keeps the admission of a request, or admits it in its order, or has it wait.
    mutating func reserve(_ place: QueuePlace) {
        if let index = admissions.index(forKey: place.number) { return admissions.values[index].isKept = true }
        // Not before those that the hold keeps waiting.
        if holds[place.lane.key] == nil, admit(place) { return }
        insert(.reserved, at: place)
    }

    /// Returns whether there is room then.
    mutating func leaveUnlessKept(_ place: QueuePlace) -> Bool {
        guard let index = admissions.index(forKey: place.number) else { return false }
        guard admissions.values[index].isKept else { return leave(place.number) }
        admissions.values[index].isKept = false
        return false
    }

    /// Keeps the admission if the transport has the request.
    mutating func withdraw(_ number: UInt64) -> Bool {
        guard admissions[number]?.isSent == false else { return false }
        return leave(number)
    }

    /// One connection to a host that multiplexes carries several.
    mutating func admitWaiters() -> [(waiter: Waiter, lane: QueueLane)] {
        var waiters: [(waiter: Waiter, lane: QueueLane)] = []
        while stops == 0, let place = firstWithoutRoom() ?? first(), let waiter = remove(place.number, in: place.lane) {
            add(place.number, of: place.lane.host)
            waiters.append((waiter, place.lane))
        }
        return waiters
    }

    /// Returns whether that changes what may be admitted.
    mutating func record(isMultiplexed: Bool, of name: String) -> Bool {
        guard let count = hosts[name], multiplexed.contains(name) != isMultiplexed else { return false }
        connections -= connections(to: name, for: count)
        if multiplexed.count >= Self.rememberedHosts { multiplexed.formIntersection(hosts.keys) }
        if isMultiplexed { multiplexed.insert(name) } else { multiplexed.remove(name) }
        connections += connections(to: name, for: count)
        return isMultiplexed
    }

    // MARK: Pauses

    /// Prolongs the pause that there is; returns whether it is new.
    mutating func pause(_ key: QueueLane.Key, until end: Duration) -> Bool {
        let former = pauses[key]
        pauses[key] = max(end, former ?? end)
        return former == nil
    }

    /// Returns whether it was the last one.
    mutating func endHold(of key: QueueLane.Key) -> Bool {
        guard let count = holds[key], count > 1 else { return holds.removeValue(forKey: key) != nil }
        holds[key] = count - 1
        return false
    }

    // MARK: Limits

    private static let rememberedHosts = 1_000

    private mutating func add(_ number: UInt64, of host: String) {
        admissions[number] = Admission(host: host)
        change(host, by: 1)
    }

    @discardableResult mutating func leave(_ number: UInt64) -> Bool {
        guard let admission = admissions.removeValue(forKey: number) else { return false }
        change(admission.host, by: -1)
        return true
    }

    private mutating func change(_ host: String, by difference: Int) {
        let former = hosts[host] ?? 0
        let count = former + difference
        hosts[host] = count > 0 ? count : nil
        connections += connections(to: host, for: count) - connections(to: host, for: former)
    }

    private func connections(to host: String, for count: Int) -> Int {
        multiplexed.contains(host) ? min(1, count) : count
    }

    private func hasRoom(for name: String) -> Bool {
        guard admissions.count < limits.total else { return false }
        let (count, isMultiplexed) = (hosts[name] ?? 0, multiplexed.contains(name))
        let needsConnection = !isMultiplexed || count == 0
        guard !needsConnection || connections < max(1, capacity.connections) else { return false }
        let carried = isMultiplexed ? capacity.streamsPerConnection : capacity.connectionsPerHost
        return count < min(limits.perHost, max(1, carried))
    }

    private func firstWithoutRoom() -> QueuePlace? {
        for number in roomless {
            let lane = lines.first { pauses[$0.key.key] == nil && $0.value.contains(number) }?.key
            if let lane { return QueuePlace(number: number, lane: lane) }
        }
        return nil
    }

    private func first() -> QueuePlace? {
        guard admissions.count < limits.total else { return nil }
        var best: QueuePlace?
        // A program may have a service for each of thousands of users, all with one host.
        var lastFull: String?
        for (lane, line) in lines where lane.host != lastFull {
            guard let place = line.first.map({ QueuePlace(number: $0, lane: lane) }), best.map(place.isBefore) != false,
                pauses[lane.key] == nil, holds[lane.key] == nil
            else { continue }
            if hasRoom(for: lane.host) { best = place } else { lastFull = lane.host }
        }
        return best
    }
}

/// Waiters in the order of their sequence numbers, each of which can be removed.
struct WaiterList<Waiter: Sendable>: Sendable {
    private var entries: [(sequence: UInt64, waiter: Waiter?)] = []
    // The entries before it are empty; the one at it, if there is one, holds a waiter.
    private var head = 0
    private(set) var count = 0

    var first: UInt64? { head < entries.count ? entries[head].sequence : nil }

    /// Replaces the waiter with the same number.
    mutating func insert(_ waiter: Waiter, sequence: UInt64) {
        _ = remove(sequence)
        count += 1
        entries.insert((sequence, waiter), at: position(of: sequence))
    }

    func contains(_ sequence: UInt64) -> Bool { index(of: sequence) != nil }

    mutating func remove(_ sequence: UInt64) -> Waiter? {
        guard let index = index(of: sequence), let waiter = exchange(&entries[index].waiter, with: nil) else {
            return nil
        }
        count -= 1
        while head < entries.count, entries[head].waiter == nil { head += 1 }
        // Drops the empty entries once they are the majority, so that each costs constant time.
        if entries.count > 2 * count + 64 {
            entries.removeAll { $0.waiter == nil }
            head = 0
        }
        return waiter
    }

    private func index(of sequence: UInt64) -> Int? {
        let index = position(of: sequence)
        guard index < entries.count, entries[index].sequence == sequence, entries[index].waiter != nil else {
            return nil
        }
        return index
    }

    private func position(of sequence: UInt64) -> Int {
        // Most come last.
        guard let last = entries.last, head < entries.count, last.sequence >= sequence else { return entries.count }
        return entries[head...].index(behindAll: { $0.sequence < sequence })
    }
}
