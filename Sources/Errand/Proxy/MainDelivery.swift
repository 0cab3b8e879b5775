import Dispatch

/// Delivers endings and progress on the main actor; those that are ready together share one hop.
///
/// A hop wakes the main thread, which costs more than the delivery of an ending. Where many endings follow each other, a hop
/// is scheduled after the jobs that wait in the thread pool, so that the responses that they decode share it. A timer outside of
/// the pool ends that wait, because jobs of the app may block the pool.
final class MainDelivery: Sendable {
    private struct State {
        private var deliveries: [@MainActor @Sendable () -> Void] = []
        var progress: [Transfer: TransferProgress] = [:]
        private var lastHop: MonotonicClock.Instant = 0
        /// `nil` unless the hop of the first delivery waits for the pool.
        private var waitsSince: MonotonicClock.Instant?
        /// The timer is not started for each wait, because most end long before it.
        var hasTimer = false

        var count: Int { deliveries.count }

        /// Returns `nil` when the hop of earlier deliveries includes this one.
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

        /// Ends the wait for the pool if it is too long; returns how long the timer has to run again.
        mutating func timerDidFire() -> (isOverdue: Bool, rest: Int64?) {
            let rest = waitsSince.map { $0 + MainDelivery.longestPoolWait - MonotonicClock.now }
            if let rest, rest > 0 { return (false, rest) }
            (waitsSince, hasTimer) = (nil, false)
            return (rest != nil, nil)
        }

        /// Returns nothing if the other hop of the same deliveries ran first.
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

    /// In nanoseconds: a hop this soon after another may wait for the pool, until a delivery is added after the same time.
    private static let longestWait: Int64 = 1_000_000

    /// In nanoseconds, when no delivery is added.
    private static let longestPoolWait: Int64 = 10_000_000
    private static let timerQueue = DispatchQueue(label: "errand.delivery", qos: .userInteractive)

    private let state = Lock(State())

    var count: Int { state.withLock(\.count) }

    /// Keeps the order of the calls; `isOneOfMany`, whether others are likely to follow soon, may be true only on a pool thread.
    func deliver(isOneOfMany: Bool = false, _ delivery: @escaping @MainActor @Sendable () -> Void) {
        guard let hop = state.withLock({ $0.add(delivery, isOneOfMany: isOneOfMany) }) else { return }
        schedule(hop)
        if hop == .afterPool, state.withLock({ !exchange(&$0.hasTimer, with: true) }) {
            runTimer(for: Self.longestPoolWait)
        }
    }

    /// Delivers the newest progress of each direction of a load only.
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
            if isOverdue { schedule(.direct) }
            if let rest { runTimer(for: rest) }
        }
    }

    /// With neither the priority nor the task-local values of the load that is first: the others share the hop.
    private func schedule(_ hop: Hop) {
        switch hop {
        case .direct: Task.detached(priority: .userInitiated) { @MainActor in self.deliverAll() }
        case .afterPool: Task.detached(priority: .userInitiated) { await self.deliverAll() }
        }
    }

    /// Delivers one batch: what its callbacks begin is in the next, so that the main actor is never held.
    @MainActor private func deliverAll() {
        let batch = state.withLock { $0.removeAll() }
        for delivery in batch { delivery() }
    }
}
