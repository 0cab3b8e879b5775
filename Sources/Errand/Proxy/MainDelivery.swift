import Dispatch
import Synchronization

/// Delivers endings and progress on the main actor; those that are ready together share one hop.
///
/// A hop wakes the main thread, which costs more than the delivery of an ending. Where many endings follow each other, a hop
/// is scheduled after the jobs that wait in the thread pool, so that the responses that they decode share it. A timer outside of
/// the pool ends that wait, because jobs of the app may block the pool.
final class MainDelivery: Sendable {
    private struct State {
        private var deliveries: [@MainActor @Sendable () -> Void] = []
        var progress: [Transfer: TransferProgress] = [:]
        /// When the last hop began.
        private var lastHop: MonotonicClock.Instant = 0
        /// When the first delivery was added, if its hop waits for the pool; `nil` otherwise.
        private var waitsSince: MonotonicClock.Instant?
        /// Whether the timer runs; it is not started for each wait, because most end long before it.
        private var hasTimer = false

        var count: Int { deliveries.count }

        /// Adds a delivery, and returns the hop to schedule; `nil` when the hop of earlier deliveries includes it.
        mutating func add(_ delivery: @escaping @MainActor @Sendable () -> Void, isOneOfMany: Bool) -> Hop? {
            deliveries.append(delivery)
            if deliveries.count == 1 {
                let now = MonotonicClock.now
                waitsSince = isOneOfMany && now - lastHop < MainDelivery.longestWait ? now : nil
                return waitsSince == nil ? .direct : .afterPool
            }
            guard let start = waitsSince else { return nil }
            guard !isOneOfMany || MonotonicClock.now - start >= MainDelivery.longestWait else { return nil }
            waitsSince = nil
            return .direct
        }

        /// Returns whether the caller has to start the timer for a wait that has just begun.
        mutating func startTimer() -> Bool {
            defer { hasTimer = true }
            return !hasTimer
        }

        /// Ends the wait for the pool if it is too long, for a hop that does not wait.
        ///
        /// - Returns: How long the timer has to run again; `nil` if there is no wait any more.
        mutating func timerDidFire() -> (isOverdue: Bool, rest: Int64?) {
            let rest = waitsSince.map { $0 + MainDelivery.longestPoolWait - MonotonicClock.now }
            if let rest, rest > 0 { return (false, rest) }
            (waitsSince, hasTimer) = (nil, false)
            return (rest != nil, nil)
        }

        /// Removes all deliveries, for a hop; there are none left if the other hop of the same deliveries ran first.
        mutating func removeAll() -> [@MainActor @Sendable () -> Void] {
            if !deliveries.isEmpty { lastHop = MonotonicClock.now }
            waitsSince = nil
            return exchange(&deliveries, with: [])
        }
    }

    private enum Hop {
        case direct
        /// After the jobs that wait in the thread pool.
        case afterPool
    }

    /// One direction of a load, so that the progress of a response does not replace the last one of the upload.
    private struct Transfer: Hashable {
        let id: RequestID
        let direction: TransferProgress.Direction
    }

    /// How soon after a hop the next one may wait for the pool, in nanoseconds.
    ///
    /// A delivery that is added after the same time ends that wait; without one, the wait ends when the pool runs the hop.
    private static let longestWait: Int64 = 1_000_000

    /// How long a hop may wait for the pool, in nanoseconds, when no delivery is added.
    private static let longestPoolWait: Int64 = 10_000_000
    private static let timerQueue = DispatchQueue(label: "errand.delivery", qos: .userInteractive)

    private let state = Mutex(State())

    /// The number of deliveries that wait for the main actor.
    var count: Int { state.withLock(\.count) }

    /// Runs `delivery` on the main actor, in the order of the calls.
    ///
    /// `isOneOfMany` is whether others are likely to follow soon; it may be true only on a thread of the pool.
    func deliver(isOneOfMany: Bool = false, _ delivery: @escaping @MainActor @Sendable () -> Void) {
        guard let hop = state.withLock({ $0.add(delivery, isOneOfMany: isOneOfMany) }) else { return }
        schedule(hop)
        if hop == .afterPool, state.withLock({ $0.startTimer() }) { runTimer(for: Self.longestPoolWait) }
    }

    /// Keeps the newest progress of each direction of a load and calls `receiver` with it on the main actor.
    func deliver(
        _ progress: TransferProgress,
        of id: RequestID,
        to receiver: @escaping @MainActor @Sendable (TransferProgress) -> Void
    ) {
        let transfer = Transfer(id: id, direction: progress.direction)
        let isFirst = state.withLock { $0.progress.updateValue(progress, forKey: transfer) == nil }
        guard isFirst else { return }
        deliver { [self] in
            if let newest = state.withLock({ $0.progress.removeValue(forKey: transfer) }) { receiver(newest) }
        }
    }

    private func runTimer(for nanoseconds: Int64) {
        let end = DispatchTime(uptimeNanoseconds: UInt64(MonotonicClock.now + nanoseconds))
        Self.timerQueue.asyncAfter(deadline: end) { [self] in
            let (isOverdue, rest) = state.withLock { $0.timerDidFire() }
            if isOverdue { start(.direct) }
            if let rest { runTimer(for: rest) }
        }
    }

    private func schedule(_ hop: Hop) {
        // Neither the priority nor the scopes of the load that is first: the others share the hop.
        ReloginScope.run(in: nil) {
            guard EnvironmentScope.current == nil else {
                return EnvironmentScope.$current.withValue(nil) { start(hop) }
            }
            start(hop)
        }
    }

    private func start(_ hop: Hop) {
        switch hop {
        case .direct: Task(priority: .userInitiated) { @MainActor in deliverAll() }
        case .afterPool: Task(priority: .userInitiated) { @concurrent in await deliverAll() }
        }
    }

    /// Delivers one batch: what its callbacks begin is in the next, so that the main actor is never held.
    @MainActor private func deliverAll() {
        let batch = state.take { $0.removeAll() }
        for delivery in batch { delivery() }
    }
}
