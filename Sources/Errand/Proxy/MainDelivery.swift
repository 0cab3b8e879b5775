import Synchronization

/// Delivers endings and progress on the main actor; those that are ready together share one hop.
final class MainDelivery: Sendable {
    private struct State {
        var deliveries: [@MainActor @Sendable () -> Void] = []
        var progress: [Transfer: TransferProgress] = [:]
    }

    /// One direction of a load, so that the progress of an answer does not replace the last one of the upload.
    private struct Transfer: Hashable {
        let id: RequestID
        let direction: TransferProgress.Direction
    }

    private let state = Mutex(State())

    /// The number of deliveries that wait for the main actor.
    var count: Int { state.withLock(\.deliveries.count) }

    /// Runs `delivery` on the main actor, in the order of the calls.
    func deliver(_ delivery: @escaping @MainActor @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.deliveries.append(delivery)
            return state.deliveries.count == 1
        }
        if isFirst { schedule() }
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

    private func schedule() {
        // Neither the priority nor the scopes of the load that is first: the others share the hop.
        ReloginScope.run(in: nil) {
            guard EnvironmentScope.current == nil else {
                return EnvironmentScope.$current.withValue(nil, operation: start)
            }
            start()
        }
    }

    private func start() {
        _ = Task(priority: .userInitiated) { @MainActor in
            // One batch for each task: what the callbacks begin is in the next, so that the main actor is never held.
            let batch = state.take { exchange(&$0.deliveries, with: []) }
            for delivery in batch { delivery() }
        }
    }
}
