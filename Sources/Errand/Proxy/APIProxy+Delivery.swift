import Synchronization

extension APIProxy {
    /// Runs `delivery` on the main actor, in the order of the calls; those that come together share one hop.
    package func deliver(_ delivery: @escaping @MainActor @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.deliveries.append(delivery)
            return state.deliveries.count == 1
        }
        if isFirst { scheduleDeliveries() }
    }

    /// Keeps the newest progress of a load and delivers that when the main actor has time.
    func deliver(
        _ progress: TransferProgress,
        of id: RequestID,
        to receiver: @escaping @MainActor @Sendable (TransferProgress) -> Void
    ) {
        let mustDeliver = state.withLock { state in
            state.loads[id] != nil && state.progress.updateValue(progress, forKey: id) == nil
        }
        guard mustDeliver else { return }
        deliver { [self] in
            let newest = state.withLock { $0.progress.removeValue(forKey: id) }
            guard let newest, isActive(id) else { return }
            receiver(newest)
        }
    }

    private func scheduleDeliveries() {
        // Neither the priority nor the scope of the load that comes first: others follow.
        ReloginScope.run(in: nil) {
            _ = Task(priority: .userInitiated) { @MainActor in
                // One batch a job: what the callbacks begin comes in the next, and the main actor is never held.
                let batch = state.take { Swift.exchange(&$0.deliveries, with: []) }
                for delivery in batch { delivery() }
            }
        }
    }
}
