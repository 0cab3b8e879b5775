import Foundation

/// The loads of a proxy: how they begin, and how they end without their work.
extension APIProxy {
    package func deliver(_ delivered: @escaping @MainActor @Sendable () -> Void) {
        delivery.deliver(delivered)
    }

    package func isActive(_ id: RequestID) -> Bool { loads.contains(id) }

    package func userSession(of service: APIService?) -> UserSession {
        let service = APIService.forNewLoad(service, or: defaultService)
        return UserSession(of: service, jar(for: service))
    }

    /// Of a load that is active.
    func session(of id: RequestID) -> LoadSession {
        let load = loads[id]
        return LoadSession(load?.loginRole == .signIn ? nil : load?.login, of: id)
    }

    /// Whether a load that begins now is part of a relogin, which loads that wait for the relogin must not hold up.
    package static var isInRelogin: Bool { ReloginScope.isOpen }

    /// Begins what a caller has asked for that is in no relogin.
    package static func outsideRelogin<Result>(_ work: () -> Result) -> Result {
        ReloginScope.$current.withValue(nil, operation: work)
    }

    package var queuedCount: Int { queue.waitingCount }

    /// Begins the work of a load away from the caller's actor; `ended` is called there.
    func start<Value>(
        _ call: Call<Value>,
        ended: @escaping @Sendable (Result<LoadedValue<Value>, APIError>) -> Void
    ) {
        // Those of this load, not of the one whose end admits it.
        let (priority, scope) = (Task.currentPriority, LoadScope())
        let work: @Sendable (QueueAdmission) -> Void = { [self] admission in
            let task = scope.task(priority: priority) { [self] in
                // A load that may share an exchange or use a stored response has its turn later.
                if !call.queuesLater { begin(call) }
                ended(await LoadRunner(call, in: self, admission).result())
            }
            if !loads.setTask(task, of: call.id) { task.cancel() }
        }
        // One that is repeated may have another priority by now.
        let lane = call.lane.map { loads.lane(of: call.id) ?? $0 }
        let place = lane.map { QueuePlace(number: call.id.queueNumber, lane: $0) }
        guard let place, !queue.enter(place, start: work) else {
            // Where it will wait, so that its priority can be changed before.
            if call.queuesLater, !call.isCoalescing, let lane = call.exchangeLane {
                _ = loads.setWaiting(in: lane, of: call.id)
            }
            return work((lane, .zero))
        }
        // A load that was cancelled meanwhile may have left the queue before it entered it.
        if !loads.setWaiting(in: place.lane, of: call.id) { queue.withdraw([(place.number, place.lane)]) }
        call.trace?.didQueue()
        // It may have changed before the load was in the queue.
        queue.fulfill({ loads.wish(of: call.id) }, at: place)
    }

    /// Ends loads that were removed from the table.
    ///
    /// All are out of the queue before the first of them is cancelled, so that none is started in its place. `isMistake` is whether
    /// their request was released while its delegate exists.
    func cancel(_ cancelled: [ActiveLoad], isMistake: Bool = false) {
        queue.withdraw(cancelled.map { ($0.id.queueNumber, $0.lane) })
        for load in cancelled { load.cancel(isMistake: isMistake) }
    }

    /// Begins a load that validates the stale response which another one has used (RFC 5861 section 3).
    func revalidate<Value>(_ call: Call<Value>, _ url: URL) {
        guard let use = call.cache?.revalidating,
            let release = use.cache.reserve(url.absoluteString, in: use.folder)
        else { return }
        let id = RequestID.next()
        let (trace, end) = insert(id, call.draft, .background, to: call.service, as: call.loginRole, willEnd: release)
        // A logout that has ended that load, perhaps of another proxy, may have been before this one was in the table.
        if !loads.contains(call.id) || call.hasSessionEnded { cancelRequest(id) }
        start(call.revalidating(as: id, use, trace: trace)) { end($0.map(\.response)) }
    }

    /// Begins a load without a request object; `willEnd` and `ended` are called once, on any thread.
    ///
    /// Returns what its work ends it with.
    func insert(
        _ id: RequestID,
        _ draft: RequestDraft,
        _ priority: RequestPriority = .normal,
        to service: APIService?,
        as role: LoginRole,
        messages: ErrorMessages? = nil,
        willEnd: @escaping @Sendable () -> Void = {},
        ended: @escaping @Sendable (Result<APIResponse, APIError>) -> Void = { _ in }
    ) -> (trace: LoadTrace?, end: @Sendable (Result<APIResponse, APIError>) -> Void) {
        let (method, path) = (draft.method, draft.listedPath)
        let trace = monitorList.withLock { $0 }.trace(of: id, method: method, path: path, for: service)
        let ended = { @Sendable [endingPublisher] (result: Result<APIResponse, APIError>) in
            willEnd()
            let result = result.mapError { $0.ended(id, method, path: draft.path, messages: messages) }
            let response = (try? result.get()) ?? result.error?.response
            trace?.end(result.ending, response: response)
            endingPublisher.publish { EndedRequest(id, of: nil, method, path: path, response, result.ending) }
            ended(result)
        }
        let end = { @Sendable [loads] (result: Result<APIResponse, APIError>) in
            guard let load = loads.claim(id) else { return }
            ended(load.file?.end(with: result) ?? result)
        }
        loads.insert(
            ActiveLoad(
                id: id,
                method: method,
                path: path,
                priority: priority,
                login: service?.login,
                loginRole: role
            ) {
                switch $0 {
                case .cancelled: ended(.failure(APIError(.cancelled)))
                case .timedOut: end(.failure(Interruption.timeout))
                }
            }
        )
        trace?.begin()
        return (trace, end)
    }

    /// Counts one more who wants a load; returns whether the load is active.
    ///
    /// One that is wanted by what others wait for, which may have all places, needs none.
    func join(_ id: RequestID, as role: LoginRole = .none) -> Bool {
        guard loads.join(id, as: role) else { return false }
        guard EnvironmentScope.isOfLoad else { return true }
        loads.setNeedsNoPlace(id)
        queue.admitAnyway(id.queueNumber)
        sharedExchanges.admitAnyway(id, in: queue)
        return true
    }

    /// Counts one less who wants a load, and cancels it with the last one.
    func leave(_ id: RequestID, ifShared: () -> Void) {
        let (last, isShared) = loads.leave(id)
        if let last { cancel([last]) }
        if isShared { ifShared() }
    }

    /// Leaves the place in the queue although code of the app may not return.
    func stopWork(of load: ActiveLoad) {
        load.task?.cancel()
        queue.withdraw([(load.id.queueNumber, load.lane)])
    }

    /// Begins the turn of a load, from which its deadline runs.
    @inline(never) func begin<Value>(_ call: Call<Value>) {
        loads.setBegun(call.id)
        call.trace?.didStart()
        startTimer(of: call)
    }

    /// Returns what reports the progress of a load, which is listed with it unless all of it is in memory.
    func progress(
        of id: RequestID,
        sending draft: RequestDraft,
        streams: Bool,
        _ report: TransferProgress.Handler?
    ) -> TransferProgress.Handler? {
        let kind = streams ? .stream : draft.kind
        guard kind != .data else { return report }
        let meter = TransferMeter(kind, resumes: draft.resumesDownload, clock: clock)
        loads.setMeter(meter, of: id)
        return { progress in
            meter.record(progress)
            report?(progress)
        }
    }

    /// Does nothing for a load that has a timer or no deadline.
    func startTimer<Value>(of call: Call<Value>) {
        guard let deadline = call.deadline else { return }
        let end = clock.uptime + deadline
        let timer = Task { [weak self, clock, id = call.id] in
            if deadline > .zero, (try? await clock.sleep(for: deadline)) == nil { return }
            guard let self, let load = loads[id] else { return }
            // The ending claims the load like any other.
            load.interrupted(.timedOut)
            // Not before: the work would deliver that it was cancelled.
            stopWork(of: load)
        }
        if !loads.setTimer(timer, until: end, of: call.id) { timer.cancel() }
    }
}
