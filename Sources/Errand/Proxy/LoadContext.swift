/// What all loads of one proxy use: its collaborators, each with private state.
struct LoadContext: Sendable {
    let loads = LoadTable()
    let queue: RequestQueue
    let shared = SharedExchanges()
    let delivery = MainDelivery()
    let transport: any HTTPTransport
    let reachability: Reachability
    let clock: any APIClock

    /// Begins the work of a load when its turn comes, away from the caller's actor, unless the load was cancelled.
    ///
    /// The work has the admission and must release it.
    func start(_ id: RequestID, in lane: QueueLane?, _ work: @escaping @Sendable (QueueSlot) async -> Void) {
        // Those of this load, not of the one whose end admits it.
        let (priority, scope) = (Task.currentPriority, ReloginScope.current)
        let begin: @Sendable () -> Void = { [self] in
            ReloginScope.run(in: scope) {
                let task = Task(priority: priority) { await work(QueueSlot(queue, lane: lane, isHeld: true)) }
                if !loads.setTask(task, of: id) { task.cancel() }
            }
        }
        guard let lane, let sequence = queue.enter(lane, start: begin) else { return begin() }
        if !loads.setWaiting(sequence, in: lane, of: id) { queue.remove(sequence, from: lane) }
    }

    /// Ends loads that were removed from the table.
    ///
    /// All are out of the table before the first of them leaves the queue, so that none is sent in its place.
    func cancel(_ cancelled: [ActiveLoad]) {
        for load in cancelled {
            if let (sequence, lane) = load.waiting { queue.remove(sequence, from: lane) }
            load.cancel()
        }
    }

    /// Returns what `work` returns, unless `limit` passes before.
    ///
    /// - Throws: What `work` throws; `timeout` when `limit` has passed, and `work` has ended as cancelled.
    func withDeadline<Value: Sendable>(
        _ limit: Duration?,
        for service: APIService?,
        _ work: @escaping @Sendable () async throws(APIError) -> Value
    ) async throws(APIError) -> Value {
        guard let limit else { return try await work() }
        let outcome = await withTaskGroup(of: Result<Value, APIError>?.self) { [clock] group in
            group.addTask {
                do throws(APIError) { return .success(try await work()) } catch { return .failure(error) }
            }
            group.addTask {
                do { try await clock.sleep(for: limit) } catch { return .failure(APIError(.cancelled)) }
                return nil
            }
            defer { group.cancelAll() }
            // A cancelled sleep is not first unless the load is cancelled as well.
            return await group.next() ?? nil
        }
        if let outcome { return try outcome.get() }
        throw APIError(TransportError(.timeout, "the deadline of the load passed"), service: service)
    }
}
