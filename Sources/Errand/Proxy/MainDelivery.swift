import Synchronization

/// Delivers endings and progress on the main actor; those that are ready together share one hop.
///
/// A hop wakes the main thread, which costs more than the delivery of an ending. Where many endings follow each other, a hop
/// is scheduled after the jobs that wait in the thread pool, so that the answers that they decode share it.
final class MainDelivery: Sendable {
    private struct State {
        var deliveries: [@MainActor @Sendable () -> Void] = []
        var progress: [Transfer: TransferProgress] = [:]
        /// When the last hop began.
        var lastHop: MonotonicClock.Instant = 0
    }

    /// One direction of a load, so that the progress of an answer does not replace the last one of the upload.
    private struct Transfer: Hashable {
        let id: RequestID
        let direction: TransferProgress.Direction
    }

    /// How soon after a hop the next one may wait for the pool, in nanoseconds: not where the pool itself is slow.
    private static let burst: Int64 = 1_000_000

    private let state = Mutex(State())

    /// The number of deliveries that wait for the main actor.
    var count: Int { state.withLock(\.deliveries.count) }

    /// Runs `delivery` on the main actor, in the order of the calls.
    ///
    /// `isOneOfMany` is whether others are likely to follow soon; it may be true only on a thread of the pool.
    func deliver(isOneOfMany: Bool = false, _ delivery: @escaping @MainActor @Sendable () -> Void) {
        let lastHop = state.withLock { state -> MonotonicClock.Instant? in
            state.deliveries.append(delivery)
            return state.deliveries.count == 1 ? state.lastHop : nil
        }
        guard let lastHop else { return }
        scheduleHop(behindPool: isOneOfMany && MonotonicClock.now - lastHop < Self.burst)
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

    private func scheduleHop(behindPool: Bool) {
        // Neither the priority nor the scopes of the load that is first: the others share the hop.
        ReloginScope.run(in: nil) {
            guard EnvironmentScope.current == nil else {
                return EnvironmentScope.$current.withValue(nil) { startHop(behindPool) }
            }
            startHop(behindPool)
        }
    }

    private func startHop(_ behindPool: Bool) {
        if behindPool {
            Task(priority: .userInitiated) { @concurrent in await deliverAll() }
        } else {
            Task(priority: .userInitiated) { @MainActor in deliverAll() }
        }
    }

    /// Delivers one batch: what its callbacks begin is in the next, so that the main actor is never held.
    @MainActor private func deliverAll() {
        let batch = state.take { state in
            state.lastHop = MonotonicClock.now
            return exchange(&state.deliveries, with: [])
        }
        for delivery in batch { delivery() }
    }
}
