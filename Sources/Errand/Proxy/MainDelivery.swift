/// Delivers endings and progress on the main actor; those that are ready together share one hop.
///
/// A hop wakes the main thread, which costs more than the delivery of an ending.
final class MainDelivery: Sendable {
    private struct State {
        var deliveries: [@MainActor @Sendable () -> Void] = []
        var progress: [Transfer: TransferProgress] = [:]
    }

    /// One direction of a load, so that the progress of a response does not replace the last one of the upload.
    private struct Transfer: Hashable {
        let id: RequestID
        let direction: TransferProgress.Direction
    }

    private let state = Lock(State())

    var count: Int { state.withLock { $0.deliveries.count } }

    /// Keeps the order of the calls.
    func deliver(_ delivery: @escaping @MainActor @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.deliveries.append(delivery)
            return state.deliveries.count == 1
        }
        // With neither the priority nor the task-local values of the load that is first: the others share the hop.
        if isFirst { Task.detached(priority: .userInitiated) { @MainActor in self.deliverAll() } }
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

    /// Delivers one batch: what its callbacks begin is in the next, so that the main actor is never held.
    @MainActor private func deliverAll() {
        let batch = state.withLock { exchange(&$0.deliveries, with: []) }
        for delivery in batch { delivery() }
    }
}
