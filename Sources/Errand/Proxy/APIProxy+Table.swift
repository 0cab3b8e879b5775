import Synchronization

extension APIProxy {
    /// Enters a load into the table, where it can be cancelled from now on.
    func open(_ load: ActiveLoad) {
        state.withLock { $0.loads[load.summary.id] = load }
    }

    /// Begins the work of an open load, away from the caller's actor, unless it has been cancelled.
    ///
    /// From here on the load belongs to `session`, and ends with it.
    func run(_ id: RequestID, in session: ObjectIdentifier? = nil, _ work: @escaping @Sendable () async -> Void) {
        guard state.withLock({ $0.loads[id]?.setSession(session) }) != nil else { return }
        let task = Task { await work() }
        let isActive = state.withLock { $0.loads[id]?.setTask(task) != nil }
        if !isActive { task.cancel() }
    }

    /// Whether the load has not ended.
    func isActive(_ id: RequestID) -> Bool {
        state.withLock { $0.loads[id] != nil }
    }

    /// Takes the load out of the table; whoever gets `true` owns its ending.
    func claim(_ id: RequestID) -> Bool {
        state.withLock { $0.loads.removeValue(forKey: id) != nil }
    }
}

extension APIProxy.ActiveLoad {
    fileprivate mutating func setSession(_ session: ObjectIdentifier?) {
        self.session = session
    }

    fileprivate mutating func setTask(_ task: Task<Void, Never>) {
        self.task = task
    }
}
