import Foundation

/// Carries one load from its place in the queue to its answer, off the main actor.
struct LoadRunner<Value: Sendable> {
    let call: APICall<Value>
    let context: LoadContext
    var slot: QueueSlot
    private var retry = RetryState()

    init(_ call: APICall<Value>, _ context: LoadContext, _ slot: QueueSlot) {
        self.call = call
        self.context = context
        self.slot = slot
    }

    /// Sends the load, and sends it again after a relogin or where a retry may help.
    mutating func run() async throws(APIError) -> APIAnswer<Value> {
        defer { slot.release() }
        // The service's closures are not called for a load that was cancelled before its turn.
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        call.service.retryBudget.countRequest(at: context.clock.uptime)
        while true {
            let generation = try await loginGeneration()
            do throws(APIError) {
                var response = try await response(in: generation)
                let statuses = call.options.acceptedStatuses
                let value = try call.serializer.value(of: &response, from: call.service, accepting: statuses)
                if call.loginRole == .signIn, response.isSuccess { call.service.login.didSignIn() }
                return APIAnswer(value: value, response: response)
            } catch {
                context.loads.discardFile(of: call.id)
                try await recover(from: error.withoutFile.of(call.draft.method, path: call.draft.path), in: generation)
            }
        }
    }

    /// Returns the generation of the login to send with, when no relogin runs or is due; a load that waits for one releases its
    /// place in the queue.
    private mutating func loginGeneration() async throws(APIError) -> Int {
        let login = call.service.login
        guard call.renewsLogin else { return login.generation }
        if let generation = login.currentGeneration(by: context.clock) { return generation }
        slot.release()
        return try await login.ready(call.id, for: call.service, clock: context.clock)
    }

    // MARK: One attempt

    private mutating func response(in generation: Int) async throws(APIError) -> APIResponse {
        guard call.isCoalescing else {
            try await slot.acquire()
            defer { slot.release() }
            // Not before it is admitted: a queued load costs no body, and its headers are current.
            return try await exchange(adaptedRequest())
        }
        // Before it is compared with others: loads share what is sent.
        let request = try await adaptedRequest()
        if request.isShareable {
            return try await context.shared.response(to: request, of: call, in: generation, context)
        }
        slot = QueueSlot(context.queue, lane: call.exchangeLane)
        try await slot.acquire()
        call.turn?.open()
        defer { slot.release() }
        return try await exchange(request)
    }

    private func exchange(_ request: HTTPRequest) async throws(APIError) -> APIResponse {
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        let exchange = Exchange(
            id: call.id,
            messages: call.service.errorMessages,
            cookies: call.cookies,
            host: slot.host,
            context: context
        )
        let statuses = call.options.acceptedStatuses
        // Other serializers read such an answer in memory.
        let stored = call.serializer.source == .file ? statuses : []
        let response = try await exchange.send(request, storing: stored, progress: call.progress)
        if var refusal = response.shortJSON {
            if let failure = call.serializer.failure(of: refusal, from: call.service, accepting: statuses) {
                throw failure
            }
            try call.service.checkEnvelope(of: &refusal)
            return response.having(statementOf: refusal)
        }
        return response
    }

    /// Returns what is sent for the load, except for its cookies.
    private func adaptedRequest() async throws(APIError) -> HTTPRequest {
        let common = try await call.service.common()
        var request = try call.draft.request(for: call.service, with: common)
        // The app may add secrets to the URL, which another origin must not receive.
        if !call.draft.leavesOrigin(of: call.service) { request = try await call.service.adapted(request) }
        // Not before the headers are there: after a logout they are another account's.
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        return call.draft.followsLink ? try call.service.withoutSecrets(request) : request
    }

    // MARK: After a failure

    /// Returns when the load is to be sent again.
    ///
    /// - Throws: `error`, or the one that replaces it, when the load has failed; `cancelled` when the task was cancelled.
    private mutating func recover(from error: APIError, in generation: Int) async throws(APIError) {
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        if error.type == .loginExpired, call.renewsLogin, !retry.hasBeenReplayed, isAnswerOfService(error) {
            retry.hasBeenReplayed = true
            return try await renewLogin(after: generation, error)
        }
        let policy = call.retryPolicy
        if policy.waitsForConnectivity, error.type == .noNetwork, context.reachability.status == .unreachable {
            return try await waitForNetwork(after: error, limit: policy.connectivityTimeout)
        }
        try await backOff(after: error, policy)
    }

    /// Returns whether the answer is from the service's own origin: a relogin does not help at another one.
    private func isAnswerOfService(_ error: APIError) -> Bool {
        guard call.draft.followsLink, let response = error.response else { return true }
        return response.url.hasSameOrigin(as: call.service.baseURL)
    }

    private func renewLogin(after generation: Int, _ refusal: APIError) async throws(APIError) {
        do {
            try await call.service.login.renew(call.id, after: generation, for: call.service, clock: context.clock)
        } catch {
            // Each waiter keeps its own answer; what they share is why the relogin failed.
            throw error.type == .loginExpired ? refusal.caused(by: error) : error
        }
    }

    private mutating func backOff(after error: APIError, _ policy: RetryPolicy) async throws(APIError) {
        let clock = context.clock
        let serverDelay = error.response?.headers.retryAfter(at: clock.date, limit: policy.maxRetryAfter)
        guard retry.count < policy.maxRetries, policy.isRetryable(error) else { throw error }
        let isPostponed = policy.retryAfterAppliesToAllMethods && serverDelay != nil && error.isOfPostponedRequest
        guard call.draft.isRepeatable || isPostponed else { throw error }
        guard call.service.retryBudget.takeRetry(of: policy, at: clock.uptime) else { throw error }
        let delay = max(policy.delay(before: retry.count), serverDelay ?? .zero)
        retry.count += 1
        do {
            try await clock.sleep(for: delay)
        } catch {
            throw APIError(.cancelled)
        }
    }

    private func waitForNetwork(after error: APIError, limit: Duration) async throws(APIError) {
        let isReachable = await withTaskGroup { [reachability = context.reachability, clock = context.clock] group in
            group.addTask { await reachability.waitWhileUnreachable() }
            group.addTask {
                try? await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() == true
        }
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        guard isReachable else { throw error }
    }
}

extension LoadContext {
    /// Sends a load that is in the table, and calls `ended` once on the main actor.
    func send<Value>(
        _ call: APICall<Value>,
        ended: @escaping @MainActor @Sendable (Result<APIAnswer<Value>, APIError>) -> Void
    ) {
        start(call.id, in: call.lane) { [self] slot in
            let result = await result(of: call, slot)
            delivery.deliver { ended(result) }
        }
    }

    /// Returns the outcome of a load that has its first place in the queue.
    func result<Value>(of call: APICall<Value>, _ slot: QueueSlot) async -> Result<APIAnswer<Value>, APIError> {
        // A load that may share an exchange has its turn with that.
        if !call.isCoalescing { call.turn?.open() }
        do throws(APIError) {
            return .success(
                try await withDeadline(call.deadline, messages: call.service.errorMessages, after: call.turn) {
                    () async throws(APIError) in
                    var runner = LoadRunner(call, self, slot)
                    return try await runner.run()
                }
            )
        } catch {
            return .failure(error.worded(by: call.service.errorMessages))
        }
    }
}

/// What has been tried for one load.
private struct RetryState {
    var hasBeenReplayed = false
    var count = 0
}

extension HTTPRequest {
    /// Whether several loads may share its answer.
    fileprivate var isShareable: Bool {
        [.get, .head].contains(method) && destination == .memory && redirectPolicy.decision == nil
    }
}
