import Dispatch
import Synchronization

extension APIProxy {
    /// Cancels one load, in whatever state it is.
    ///
    /// When this returns, neither success nor failure will be delivered for `id` any more. Its delegate or its `async` caller is
    /// notified of the cancel soon afterwards; for a download, when nothing of it is left on the disk. The file that a
    /// download was to replace stays as it was. An unknown, ended or repeated ID is a no-op.
    ///
    /// - Returns: Whether this call has ended the load.
    @discardableResult
    public func cancelRequest(_ id: RequestID) -> Bool {
        guard let load = state.take({ $0.takeLoad(id) }) else { return false }
        cancel(load)
        return true
    }

    /// Cancels these loads, as ``cancelRequest(_:)`` does.
    public func cancelRequests(_ ids: some Sequence<RequestID>) {
        // A sequence may run code of the app, which must not happen under the lock.
        let ids = Array(ids)
        cancel(state.take { $0.takeLoads(ids) })
    }

    /// Cancels every load of this proxy, as ``cancelRequest(_:)`` does.
    public func cancelAllRequests() {
        cancel(state.take { $0.takeLoads(Array($0.loads.keys)) })
    }

    /// Cancels those of `ids` whose loads end with the object that began them.
    func ownerIsGone(_ ids: [RequestID]) {
        cancel(state.take { state in state.takeLoads(ids.filter { state.loads[$0]?.endsWithOwner == true }) })
    }

    /// Cancels the loads of one session.
    func cancelRequests(of session: ObjectIdentifier) {
        cancel(
            state.take { state in
                state.takeLoads(state.loads.values.filter { $0.session == session }.map(\.summary.id))
            }
        )
    }

    // All are out of the table before the first of them gives back its place in the queue: none is sent in its stead.
    private func cancel(_ loads: [ActiveLoad]) {
        for load in loads.sorted(by: { $0.summary.id < $1.summary.id }) { cancel(load) }
    }

    private func cancel(_ load: ActiveLoad) {
        load.task?.cancel()
        guard let file = load.file else { return load.cancelled() }
        // On a thread of its own, because the disk may take long, and before the ending, when nothing may be left.
        DispatchQueue(label: "errand.file").async {
            file.remove()
            load.cancelled()
        }
    }
}

extension APIProxy.State {
    /// Takes a load out of the table, and out of the queue when it waits there to start.
    fileprivate mutating func takeLoad(_ id: RequestID) -> APIProxy.ActiveLoad? {
        guard var load = loads.removeValue(forKey: id) else { return nil }
        if let (ticket, place) = load.position { load.waiter = queue.remove(ticket, at: place) }
        return load
    }

    fileprivate mutating func takeLoads(_ ids: [RequestID]) -> [APIProxy.ActiveLoad] {
        ids.compactMap { takeLoad($0) }
    }
}
