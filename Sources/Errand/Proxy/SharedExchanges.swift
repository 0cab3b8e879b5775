import Synchronization

/// The exchanges that loads with identical requests share.
final class SharedExchanges: Sendable {
    private let exchanges = Mutex<[SharedExchange.Key: SharedExchange]>([:])

    /// The number of exchanges.
    var count: Int { exchanges.withLock(\.count) }

    /// The number of loads that share an exchange.
    var memberCount: Int { exchanges.withLock { $0.values.reduce(0) { $0 + $1.members.count } } }

    /// Returns the answer to a load from the exchange of its identical requests, which the first load begins.
    func response<Value>(
        to request: HTTPRequest,
        of call: APICall<Value>,
        in generation: Int,
        _ proxy: APIProxy,
        progress: TransferProgress.Handler? = nil,
        didQueue: @escaping @Sendable () -> Void = {},
        begin: @escaping @Sendable () -> Void = {}
    ) async throws(APIError) -> APIResponse {
        let key = SharedExchange.Key(request, of: call, in: generation)
        let id = call.id
        let outcome = await withCancellableContinuation(ifCancelled: .failure(APIError(.cancelled))) { waiter in
            let member = SharedExchange.Member(
                of: call,
                progress: progress,
                waiter: waiter,
                didQueue: didQueue,
                begin: begin
            )
            if let trace = join(key, as: member) {
                let slot = QueueSlot(proxy.queue, number: id.sharedQueueNumber, lane: call.exchangeLane)
                start(key, number: id, slot: slot) { progress throws(APIError) in
                    let exchange = Exchange(request, id: nil, cookies: call.cookies, proxy: proxy, trace: trace)
                    let response = try await exchange.send(progress: progress)
                    slot.didReceive(isMultiplexed: exchange.isMultiplexed, keepsPlace: false)
                    return response
                } isActive: {
                    proxy.loads.containsAny(of: $0)
                }
            }
            return nil
        } remove: {
            leave(key, id: id)
        }
        return try outcome.get()
    }

    private func start(
        _ key: SharedExchange.Key,
        number: RequestID,
        slot: QueueSlot,
        send: @escaping @Sendable (@escaping TransferProgress.Handler) async throws(APIError) -> APIResponse,
        isActive: @escaping @Sendable (Set<RequestID>) -> Bool
    ) {
        let task = Task {
            let outcome: SharedExchange.Outcome
            do throws(APIError) {
                if !slot.acquireAtOnce() { didQueue(key, number: number) }
                try await slot.acquire()
                defer { slot.release() }
                admit(key, number: number)
                guard !removeIfCancelled(key, number: number, isActive: isActive) else { throw APIError(.cancelled) }
                outcome = .success(try await send { self.report($0, to: key, number: number) })
            } catch {
                outcome = .failure(error)
            }
            remove(key, number: number)?.end(with: outcome)
        }
        let isCurrent = exchanges.withLock { $0[key]?.setTask(task, of: number) }
        if isCurrent != true { task.cancel() }
    }

    /// Adds a load.
    ///
    /// - Returns: The trace of the exchange if the load is the first, which has to begin it.
    private func join(_ key: SharedExchange.Key, as member: SharedExchange.Member) -> ExchangeTrace? {
        // Events of the exchange may follow before it is known whether the load has joined it.
        member.trace?.reserve()
        let (isFirst, stage, trace, exchange) = exchanges.withLock { exchanges in
            let isFirst = exchanges[key] == nil
            var shared = exchanges.removeValue(forKey: key) ?? makeShared(key, number: member.id)
            shared.members[member.id] = member
            exchanges[key] = shared
            return (isFirst, shared.stage, shared.trace, shared.trace.number)
        }
        member.trace?.fillReserved(isJoined: !isFirst, isStarted: stage == .admitted, exchange: exchange)
        switch stage {
        case .begun: break
        case .queued: member.didQueue()
        case .admitted: member.begin()
        }
        return isFirst ? trace : nil
    }

    private func makeShared(_ key: SharedExchange.Key, number: RequestID) -> SharedExchange {
        let trace = ExchangeTrace { [self] in members(of: key, number: number).compactMap(\.trace) }
        return SharedExchange(number: number, trace)
    }

    /// Reports that all loads that share an exchange wait, and those that join it until it is admitted.
    private func didQueue(_ key: SharedExchange.Key, number: RequestID) {
        for member in setStage(.queued, of: key, number: number) { member.didQueue() }
    }

    /// Signals the turn of all loads that share an exchange, and of those that join it later.
    private func admit(_ key: SharedExchange.Key, number: RequestID) {
        for member in setStage(.admitted, of: key, number: number) { member.begin() }
    }

    private func setStage(
        _ stage: SharedExchange.Stage,
        of key: SharedExchange.Key,
        number: RequestID
    ) -> [SharedExchange.Member] {
        exchanges.take { exchanges in
            guard exchanges[key]?.number == number else { return [] }
            exchanges[key]?.stage = stage
            return exchanges[key].map { Array($0.members.values) } ?? []
        }
    }

    /// Removes an exchange all of whose loads have been cancelled, so that no load joins it.
    ///
    /// - Returns: Whether the exchange is not to be sent.
    private func removeIfCancelled(
        _ key: SharedExchange.Key,
        number: RequestID,
        isActive: (Set<RequestID>) -> Bool
    ) -> Bool {
        while true {
            let members = Set(members(of: key, number: number).map(\.id))
            guard !members.isEmpty else { return true }
            if isActive(members) { return false }
            let shared = exchanges.take { exchanges -> SharedExchange? in
                // A load that has joined meanwhile may be active.
                guard let shared = exchanges[key], shared.number == number, Set(shared.members.keys) == members else {
                    return nil
                }
                return exchanges.removeValue(forKey: key)
            }
            guard let shared else { continue }
            shared.resumeAll(returning: .failure(APIError(.cancelled)))
            return true
        }
    }

    private func members(of key: SharedExchange.Key, number: RequestID) -> [SharedExchange.Member] {
        let shared = exchanges.take { $0[key] }
        guard let shared, shared.number == number else { return [] }
        return Array(shared.members.values)
    }

    private func report(_ progress: TransferProgress, to key: SharedExchange.Key, number: RequestID) {
        for member in members(of: key, number: number) { member.progress?(progress) }
    }

    private func remove(_ key: SharedExchange.Key, number: RequestID) -> SharedExchange? {
        exchanges.take { exchanges in
            exchanges[key]?.number == number ? exchanges.removeValue(forKey: key) : nil
        }
    }

    /// Removes one load; the exchange ends with the last.
    private func leave(_ key: SharedExchange.Key, id: RequestID) -> SharedExchange.Waiter? {
        let (member, abandoned) = exchanges.take { exchanges -> (SharedExchange.Member?, SharedExchange?) in
            let member = exchanges[key]?.members.removeValue(forKey: id)
            guard member != nil, exchanges[key]?.members.isEmpty == true else { return (member, nil) }
            return (member, exchanges.removeValue(forKey: key))
        }
        abandoned?.task?.cancel()
        return member?.waiter
    }
}
