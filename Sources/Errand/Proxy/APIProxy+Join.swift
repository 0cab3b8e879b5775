import Synchronization

extension APIProxy {
    /// The answer to a load that takes part in an exchange for the same, or begins one for others to take part in.
    func joinedResponse<Value>(
        _ request: HTTPRequest,
        of call: APICall<Value>,
        in generation: Int
    ) async throws(APIError) -> APIResponse {
        let key = SharedExchange.Key(request, of: call, in: generation)
        let id = call.id
        let outcome = await suspended(ifCancelled: .failure(APIError(.cancelled))) { waiter in
            let member = SharedExchange.Member(waiter: waiter, progress: call.progress)
            let isFirst = state.withLock { $0.join(key, as: id, member) }
            if isFirst { share(request, key, number: id, for: call.service, at: call.exchangePlace) }
            return nil
        } unpark: {
            leave(key, id)
        }
        return try outcome.get()
    }

    private func share(
        _ request: HTTPRequest,
        _ key: SharedExchange.Key,
        number: RequestID,
        for service: APIService,
        at place: RequestQueue.Place?
    ) {
        let task = Task {
            let outcome: SharedExchange.Outcome
            do throws(APIError) {
                var turn = Turn(place: place)
                let response = try await inTurn(&turn) { () async throws(APIError) in
                    guard !endsUnwanted(key, number) else { throw APIError(.cancelled) }
                    return try await exchange(request, for: service) { self.spread($0, key, number) }
                }
                outcome = .success(response)
            } catch {
                outcome = .failure(error)
            }
            end(key, number, with: outcome)
        }
        let isWanted = state.withLock { $0.sharedExchanges[key]?.setTask(task, of: number) }
        if isWanted != true { task.cancel() }
    }

    /// Ends an exchange all of whose loads have been cancelled, so that none joins it any more; whether it is over.
    private func endsUnwanted(_ key: SharedExchange.Key, _ number: RequestID) -> Bool {
        let (shared, isOver) = state.take { state -> (SharedExchange?, Bool) in
            guard let shared = state.sharedExchanges[key], shared.number == number else { return (nil, true) }
            guard !shared.members.keys.contains(where: { state.loads[$0] != nil }) else { return (nil, false) }
            return (state.sharedExchanges.removeValue(forKey: key), true)
        }
        guard isOver else { return false }
        shared?.resumeAll(returning: .failure(APIError(.cancelled)))
        return true
    }

    private func spread(_ progress: TransferProgress, _ key: SharedExchange.Key, _ number: RequestID) {
        let shared = state.take { $0.sharedExchanges[key] }
        guard let shared, shared.number == number else { return }
        for member in shared.members.values { member.progress?(progress) }
    }

    private func end(_ key: SharedExchange.Key, _ number: RequestID, with outcome: SharedExchange.Outcome) {
        let shared = state.take { state in
            state.sharedExchanges[key]?.number == number ? state.sharedExchanges.removeValue(forKey: key) : nil
        }
        shared?.resumeAll(returning: outcome)
    }

    /// Takes one load out; with the last the exchange ends.
    private func leave(_ key: SharedExchange.Key, _ id: RequestID) -> SharedExchange.Waiter? {
        let (member, abandoned) = state.take { state -> (SharedExchange.Member?, SharedExchange?) in
            let member = state.sharedExchanges[key]?.members.removeValue(forKey: id)
            guard member != nil, state.sharedExchanges[key]?.members.isEmpty == true else { return (member, nil) }
            return (member, state.sharedExchanges.removeValue(forKey: key))
        }
        abandoned?.task?.cancel()
        return member?.waiter
    }
}

extension APIProxy.State {
    /// Whether the load is the first and has to begin the exchange.
    fileprivate mutating func join(_ key: SharedExchange.Key, as id: RequestID, _ member: SharedExchange.Member) -> Bool
    {
        let isFirst = sharedExchanges[key] == nil
        sharedExchanges[key, default: SharedExchange(number: id, members: [:])].members[id] = member
        return isFirst
    }
}

extension SharedExchange {
    fileprivate func resumeAll(returning outcome: Outcome) {
        for member in members.values { member.waiter.resume(returning: outcome) }
    }

    fileprivate mutating func setTask(_ task: Task<Void, Never>, of number: RequestID) -> Bool {
        guard self.number == number else { return false }
        self.task = task
        return true
    }
}
