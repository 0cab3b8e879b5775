import Synchronization

extension APIProxy {
    /// Enters a load into the table, where it can be cancelled from now on.
    func open(_ load: ActiveLoad) {
        state.withLock { $0.loads[load.summary.id] = load }
    }

    /// Begins the work of an open load when its turn has come, away from the caller's actor, unless it was cancelled.
    ///
    /// The work has the turn and must give it back.
    func run(
        _ id: RequestID,
        at place: RequestQueue.Place?,
        _ work: @escaping @Sendable (Turn) async -> Void
    ) {
        // Its own, not those of the load whose turn it takes over.
        let (priority, scope) = (Task.currentPriority, ReloginScope.current)
        let begin: @Sendable () -> Void = { [self] in
            ReloginScope.run(in: scope) { start(id, Task(priority: priority) { await work(.held(place)) }) }
        }
        if state.withLock({ $0.enqueue(id, place, begin) }) { begin() }
    }

    private func start(_ id: RequestID, _ task: Task<Void, Never>) {
        let isActive = state.withLock { $0.loads[id]?.setTask(task) != nil }
        if !isActive { task.cancel() }
    }

    /// Whether the load has not ended.
    func isActive(_ id: RequestID) -> Bool {
        state.withLock { $0.loads[id] != nil }
    }

    /// Whether a new load of a request may end with the load `id`: not if that may wait for a login which waits for the new one.
    func mayJoin(_ id: RequestID, as role: LoginRole) -> Bool {
        state.withLock { state in
            guard let load = state.loads[id] else { return false }
            return load.loginRole.isLoginRequest || !role.isLoginRequest
        }
    }

    /// Takes the load out of the table; whoever gets it owns its ending, and that of its file.
    func claim(_ id: RequestID) -> ActiveLoad? {
        state.take { $0.loads.removeValue(forKey: id) }
    }
}

extension APIProxy.State {
    /// Whether the load is open and may start at once; otherwise `start` will be called when its turn has come.
    fileprivate mutating func enqueue(
        _ id: RequestID,
        _ place: RequestQueue.Place?,
        _ start: @escaping @Sendable () -> Void
    ) -> Bool {
        guard loads[id] != nil else { return false }
        guard let place, !queue.enter(place) else { return true }
        let ticket = queue.ticket()
        _ = queue.wait(.unstarted(start), with: ticket, at: place)
        loads[id]?.setPosition((ticket, place))
        return false
    }
}

extension APIProxy.ActiveLoad {
    fileprivate mutating func setPosition(_ position: (ticket: UInt64, place: RequestQueue.Place)) {
        self.position = position
    }

    fileprivate mutating func setTask(_ task: Task<Void, Never>) {
        self.task = task
        position = nil
    }
}
