import Foundation

/// Carries one load from its place in the queue to its answer, off the main actor.
///
/// A class, because each asynchronous function would reserve memory for several copies of a structure.
final class LoadRunner<Value: Sendable> {
    private let call: APICall<Value>
    private let context: LoadContext
    private var slot: QueueSlot
    private var retry = RetryState()
    /// What adapters know of the current send; boxed, because most loads have none.
    private var send: Boxed<AdapterContext>?

    init(_ call: APICall<Value>, _ context: LoadContext, _ slot: QueueSlot) {
        self.call = call
        self.context = context
        self.slot = slot
    }

    /// Sends the load, and sends it again after a relogin or where a retry may help.
    func run() async throws(APIError) -> APIAnswer<Value> {
        defer { slot.release() }
        // The service's closures are not called for a load that was cancelled before its turn.
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        call.service.retryBudget.countRequest(at: context.clock.uptime)
        while true {
            let generation = try await loginGeneration()
            do throws(APIError) {
                let response = try await response(in: generation)
                let isAdapted = call.service.adapters.adaptsAnswers
                let answer = isAdapted ? try await adaptedAnswer(in: response) : try answer(in: response)
                if call.loginRole == .signIn { didSignIn(answer.response) }
                return answer
            } catch {
                try await recover(from: failure(error), in: generation)
            }
        }
    }

    // What is inlined into an asynchronous function increases the memory of each load in progress.

    @inline(never) private func didSignIn(_ response: APIResponse) {
        if response.isSuccess { call.service.login.didSignIn() }
    }

    /// Returns the error of a send as that of the load, whose file is discarded.
    @inline(never) private func failure(_ error: APIError) -> APIError {
        context.loads.discardFile(of: call.id)
        return error.withoutFile.of(call.draft.method, path: call.draft.path)
    }

    /// Returns the generation of the login to send with, when no relogin runs or is due; a load that waits for one releases its
    /// place in the queue.
    private func loginGeneration() async throws(APIError) -> Int {
        let login = call.service.login
        guard call.renewsLogin else { return login.generation }
        if let generation = login.currentGeneration(by: context.clock) { return generation }
        slot.release()
        return try await login.ready(call.id, for: call.service, clock: context.clock)
    }

    // MARK: One attempt

    private func response(in generation: Int) async throws(APIError) -> APIResponse {
        guard !call.isCoalescing else { return try await sharedResponse(in: generation) }
        try await slot.acquire()
        defer { slot.release() }
        // Not before it is admitted: a queued load costs no body, and its headers are current.
        return try await exchange(request(in: generation))
    }

    @inline(never) private func sharedResponse(in generation: Int) async throws(APIError) -> APIResponse {
        // Before it is compared with others: loads share what is sent.
        let request = try await request(in: generation)
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
        // Other serializers read such an answer in memory.
        let stored = call.serializer.source == .file ? call.options.acceptedStatuses : []
        return try await exchange.send(request, storing: stored, progress: call.progress)
    }

    /// Returns what is sent for the load, except for its cookies.
    private func request(in generation: Int) async throws(APIError) -> HTTPRequest {
        let common = try await call.service.common()
        guard call.service.adapters.isEmpty else { return try await adaptedRequest(with: common, in: generation) }
        return try plainRequest(with: common)
    }

    @inline(never) private func plainRequest(with common: CommonValues) throws(APIError) -> HTTPRequest {
        try complete(call.draft.request(for: call.service, with: common))
    }

    private func complete(_ request: HTTPRequest) throws(APIError) -> HTTPRequest {
        // Not before the headers are there: after a logout they are another account's.
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        return call.draft.followsLink ? try call.service.withoutSecrets(request) : request
    }

    @inline(never) private func answer(in response: APIResponse) throws(APIError) -> APIAnswer<Value> {
        var response = try checked(response)
        let statuses = call.options.acceptedStatuses
        let value = try call.serializer.value(of: &response, from: call.service, accepting: statuses)
        return APIAnswer(value: value, response: response)
    }

    /// Returns an answer with the code and message of its file.
    ///
    /// - Throws: The failure in the file.
    private func checked(_ response: APIResponse) throws(APIError) -> APIResponse {
        guard var refusal = response.shortJSON else { return response }
        let statuses = call.options.acceptedStatuses
        if let failure = call.serializer.failure(of: refusal, from: call.service, accepting: statuses) { throw failure }
        try call.service.checkEnvelope(of: &refusal)
        return response.having(statementOf: refusal)
    }

    // MARK: Adapters

    private func adaptedRequest(
        with common: CommonValues,
        in generation: Int
    ) async throws(APIError) -> HTTPRequest {
        guard let attempt = context.loads.countSend(of: call.id) else { throw APIError(.cancelled) }
        var send = call.adapterContext(attempt: attempt, in: generation, clock: context.clock)
        let request = try complete(await call.service.request(of: call.draft, with: common, send))
        send.request = request
        self.send = Boxed(wrappedValue: send)
        return request
    }

    private func adaptedAnswer(in response: APIResponse) async throws(APIError) -> APIAnswer<Value> {
        guard let send = send?.wrappedValue else { return try answer(in: response) }
        let response = try await call.service.adapted(response, send)
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        return call.service.adapters.data.isEmpty ? try answer(in: response) : try await answer(in: response, send)
    }

    /// Returns the value of an answer whose data are adapted before they are decoded.
    private func answer(
        in response: APIResponse,
        _ send: AdapterContext
    ) async throws(APIError) -> APIAnswer<Value> {
        var response = try checked(response)
        let (service, statuses) = (call.service, call.options.acceptedStatuses)
        guard let part = try call.serializer.decodedData(of: response, from: service, accepting: statuses) else {
            return APIAnswer(value: try call.serializer.value(of: &response, from: service), response: response)
        }
        let data = try await service.adapted(part.data, of: response, send)
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        guard data != part.data else {
            return APIAnswer(value: try call.serializer.value(of: &response, from: service), response: response)
        }
        guard let body = part.body(with: data) else {
            throw APIError(.decoding, messages: service.errorMessages, response: response).explained(byAdapted: data)
        }
        response.body = body
        do throws(APIError) {
            return APIAnswer(value: try call.serializer.value(of: &response, from: service), response: response)
        } catch {
            throw error.explained(byAdapted: data)
        }
    }

    // MARK: After a failure

    /// Returns when the load is to be sent again.
    ///
    /// - Throws: `error`, or the one that replaces it, when the load has failed; `cancelled` when the task was cancelled.
    private func recover(from error: APIError, in generation: Int) async throws(APIError) {
        guard context.loads.contains(call.id) else { throw APIError(.cancelled) }
        if let requested = error.underlying as? RequestedRetry { return try await sendAgain(requested.retry, error) }
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

    /// Waits until the load is to be sent again, as an adapter asks for it.
    private func sendAgain(_ retry: AdapterRetry, _ error: APIError) async throws(APIError) {
        guard context.loads.setSentAgain(call.id) else {
            throw error.caused(by: APIError(error.type, reason: error.reason, underlying: retry))
        }
        try await sleep(for: retry.delay)
    }

    private func sleep(for delay: Duration) async throws(APIError) {
        do {
            try await context.clock.sleep(for: delay)
        } catch {
            throw APIError(.cancelled)
        }
    }

    private func backOff(after error: APIError, _ policy: RetryPolicy) async throws(APIError) {
        try await sleep(for: retryDelay(after: error, policy))
    }

    /// Returns how long to wait before the load is sent again, and counts the retry.
    ///
    /// - Throws: `error`, when the load is not sent again.
    @inline(never) private func retryDelay(
        after error: APIError,
        _ policy: RetryPolicy
    ) throws(APIError) -> Duration {
        let clock = context.clock
        let serverDelay = error.response?.headers.retryAfter(at: clock.date, limit: policy.maxRetryAfter)
        guard Int(retry.count) < policy.maxRetries, policy.isRetryable(error) else { throw error }
        let isPostponed = policy.retryAfterAppliesToAllMethods && serverDelay != nil && error.isOfPostponedRequest
        guard call.draft.isRepeatable || isPostponed else { throw error }
        guard call.service.retryBudget.takeRetry(of: policy, at: clock.uptime) else { throw error }
        let delay = max(policy.delay(before: Int(retry.count)), serverDelay ?? .zero)
        retry.count += 1
        return delay
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

/// What has been tried for one load.
private struct RetryState {
    var hasBeenReplayed = false
    var count: Int32 = 0
}

extension HTTPRequest {
    /// Whether several loads may share its answer.
    fileprivate var isShareable: Bool {
        [.get, .head].contains(method) && destination == .memory && redirectPolicy.decision == nil
    }
}
