import Synchronization

extension APIProxy {
    /// Cancels one load, in whatever state it is.
    ///
    /// When this returns, neither success nor failure will be delivered for `id` any more; its delegate hears of the cancel
    /// on the main actor, its `async` caller at once. An unknown, ended or repeated ID is a no-op.
    ///
    /// - Returns: Whether this call has ended the load.
    @discardableResult
    public func cancelRequest(_ id: RequestID) -> Bool {
        guard let load = state.withLock({ $0.loads.removeValue(forKey: id) }) else { return false }
        cancel(load)
        return true
    }

    /// Cancels these loads, as ``cancelRequest(_:)`` does.
    public func cancelRequests(_ ids: some Sequence<RequestID>) {
        for id in ids { cancelRequest(id) }
    }

    /// Cancels every load of this proxy, as ``cancelRequest(_:)`` does.
    public func cancelAllRequests() {
        let loads = state.withLock { state in
            defer { state.loads = [:] }
            return state.loads.values.sorted { $0.summary.id < $1.summary.id }
        }
        loads.forEach(cancel)
    }

    /// Cancels those of `ids` whose loads end with the object that began them.
    func ownerIsGone(_ ids: [RequestID]) {
        let loads = state.withLock { state in
            ids.filter { state.loads[$0]?.endsWithOwner == true }.compactMap { state.loads.removeValue(forKey: $0) }
        }
        loads.forEach(cancel)
    }

    private func cancel(_ load: ActiveLoad) {
        load.task?.cancel()
        load.cancelled()
    }
}
