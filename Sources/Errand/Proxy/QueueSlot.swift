/// Where a request waits: those to one host share its limit, and those of one service to it a pause.
struct QueueLane: Hashable {
    /// What a pause applies to.
    struct Key: Hashable {
        let host: String
        let service: ObjectIdentifier?
    }

    let host: String
    var service: ObjectIdentifier?
    var priority: RequestPriority

    var key: Key { Key(host: host, service: service) }
}

/// The first admission of a load; not captured by what starts it, because hundreds of thousands may wait.
///
/// Without a lane for a load that does not queue.
typealias QueueAdmission = (lane: QueueLane?, queueTime: Duration)

/// Where a request is to wait, if that is known, and whether it is to be admitted although there is no room.
typealias QueueWish = (lane: QueueLane?, needsNoPlace: Bool)

/// Where a request waits, and its order there.
struct QueuePlace: Sendable {
    /// Lower numbers go first; no two requests have the same one.
    let number: UInt64
    let lane: QueueLane

    func isBefore(_ other: QueuePlace) -> Bool {
        let (own, others) = (lane.priority, other.lane.priority)
        return own == others ? number < other.number : own > others
    }
}

extension RequestID {
    var queueNumber: UInt64 { rawValue << 1 }

    /// The order of the exchange that this load has begun, and that others may share.
    var sharedQueueNumber: UInt64 { rawValue << 1 | 1 }
}

/// A load's admission to the transport, which it holds or has to wait for.
///
/// A class, because each asynchronous function of a load would have a copy of a structure.
final class QueueSlot: Sendable {
    private let queue: RequestQueue
    /// `nil` is always admitted.
    private let place: QueuePlace?
    /// Where others wait while a relogin of this load runs.
    private let lane: QueueLane?

    /// `heldLane` is that of a load that has no place of its own.
    init(_ queue: RequestQueue, number: UInt64, lane: QueueLane?, heldLane: QueueLane? = nil) {
        self.queue = queue
        place = lane.map { QueuePlace(number: number, lane: $0) }
        self.lane = lane ?? heldLane
    }

    /// `nil` for one that is always admitted.
    var ownLane: QueueLane? { place?.lane }

    /// Returns the slot with the priority that it has by then.
    @discardableResult func acquire(
        didQueue: () -> Void = {},
        wish: () -> QueueWish
    ) async throws(APIError) -> QueueSlot {
        guard let place else { return self }
        guard let lane = await queue.admission(to: place, didQueue: didQueue, wish: wish) else {
            throw APIError(.cancelled)
        }
        guard lane.priority != place.lane.priority else { return self }
        return QueueSlot(queue, number: place.number, lane: lane)
    }

    func acquireAtOnce() -> Bool { place.map(queue.admitAtOnce) ?? true }

    /// The transport holds the admission until ``release()``, also after a cancel; throws when a cancel has ended it.
    func send() throws(APIError) {
        if let place, !queue.setSent(at: place) { throw APIError(.cancelled) }
    }

    func didReceive(isMultiplexed: Bool?, keepsPlace: Bool) {
        if let place { queue.didReceive(at: place, isMultiplexed: isMultiplexed, keepsPlace: keepsPlace) }
    }

    /// Also ends the wait for the admission.
    func release() { if let place { queue.leave(place) } }
}

extension QueueSlot: LoginPlace {
    var rank: Int { lane?.priority.rawValue ?? 0 }

    func leaveForLogin() { if let place { queue.leaveUnlessReserved(place) } }
    func reserve() { if let place { queue.reserve(place) } }
    func holdLane() { if let lane { queue.hold(lane) } }
    func resumeLane() { if let lane { queue.resume(lane) } }
}
