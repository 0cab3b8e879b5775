/// Carries one load from its place in the queue to its response, off the main actor.
///
/// A class, as ``LoadAttempt`` is.
final class LoadRunner<Value: Sendable> {
    private let call: Call<Value>
    private let proxy: APIProxy
    private let attempt: LoadAttempt<Value>
    private let turn: LoadTurn<Value>
    private lazy var recovery = LoadRecovery(call, in: proxy)
    /// Whether a relogin was for this load.
    private var hasNeededLogin = false
    /// `nil` without a cache.
    private var cache: CacheStage?

    init(_ call: Call<Value>, in proxy: APIProxy, _ admission: QueueAdmission = (nil, .zero)) {
        (self.call, self.proxy) = (call, proxy)
        attempt = LoadAttempt(call, in: proxy)
        attempt.queueTime = admission.queueTime
        turn = LoadTurn(of: attempt, in: admission.lane)
    }

    /// Returns the stored response of a load whose deadline has passed; `nil` without one, or if it is of no use.
    @concurrent static func fallback(of call: Call<Value>, in proxy: APIProxy) async -> LoadedValue<Value>? {
        await fallbackValue(for: LoadAttempt(call, in: proxy, number: 1), after: Interruption.timeout)
    }

    func result() async -> Result<LoadedValue<Value>, APIError> {
        do throws(APIError) {
            return .success(try await run())
        } catch {
            if hasNeededLogin { recovery.didEnd(with: error) }
            guard call.cache?.rule == .fallback,
                let stored = await Self.fallbackValue(for: attempt, after: error)
            else { return .failure(error) }
            return .success(stored)
        }
    }

    private func run() async throws(APIError) -> LoadedValue<Value> {
        defer { turn.leave() }
        // The service's closures are not called for a load that was cancelled before its turn.
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        // Some systems report the status only after it has been read.
        if call.retryPolicy.waitsForConnectivity { _ = proxy.reachability.status }
        attempt.begin()
        // Until it queues: it has its turn where it is sent, which headers and a relogin may delay.
        if call.queuesLater { proxy.startTimer(of: call) }
        if call.cache != nil, let stored = try await storedValue() { return stored }
        call.service.retryBudget.countRequest(at: proxy.clock.uptime)
        while true {
            var sent: SentLogin?
            do throws(APIError) {
                let login = try await turn.take()
                sent = login
                guard let response = try await response(in: login) else { continue }
                if call.stream != nil, try await reconnects(after: nil) { continue }
                let loaded = try await attempt.value(in: response, cache)
                if response.source == .cache {
                    if hasNeededLogin { recovery.didEnd() }
                } else if call.renewsLogin {
                    call.service.login.didSucceed(with: login, hasNeededOne: hasNeededLogin)
                }
                guard let cache else { return loaded }
                return cache.end(with: loaded)
            } catch {
                turn.didFail()
                if cache?.didFail(with: error) == true { continue }
                if call.stream != nil, try await reconnects(after: error) { continue }
                let failure = attempt.failure(error)
                try await recover(from: failure, in: sent)
            }
        }
    }

    // MARK: One attempt

    // What is inlined into an asynchronous function increases the memory of each load in progress.

    /// Returns `nil` if the request is to be made again: a relogin has begun since the headers were made, which may be those of
    /// either login, or the stored response that it has validated is of no use.
    private func response(in login: SentLogin) async throws(APIError) -> APIResponse? {
        // Built after the admission, so that a queued load holds no body, and its headers are current.
        let prepared = cache?.takePrepared(in: login.generation)
        let request = if let prepared { prepared } else { try await attempt.request() }
        guard call.isCurrent(login.generation) else { return nil }
        let response: APIResponse? =
            // A stream has fewer calls below it, because each takes memory while the stream is open.
            if let stream = call.stream {
                try await streamedExchange(request, stream, in: login)
            } else if let cache {
                try await cachedExchange(request, cache, isPrepared: prepared != nil, in: login.generation)
            } else if call.isCoalescing { try await sharedResponse(to: request, in: login.generation) } else {
                try await exchange(request)
            }
        return response.map { receive($0, in: login) }
    }

    /// Releases the place in the queue, once what the response means for the next request is known.
    @inline(never) private func receive(_ response: APIResponse, in login: SentLogin) -> APIResponse {
        if response.status == 429 { recovery.pauseHost(after: response) }
        turn.didReceive(response, in: login)
        return attempt.label(response)
    }

    /// Whatever the outcome is, because a response may be lost.
    private func didSend() {
        if !(attempt.sentMethod ?? call.draft.method).isSafe { proxy.sharedExchanges.didChangeServer() }
    }

    private func exchange(_ request: HTTPRequest) async throws(APIError) -> APIResponse {
        // A cancel has ended the admission.
        try turn.slot.send()
        defer { didSend() }
        let exchange = attempt.makeExchange(request, cache)
        // Other serializers read such a response in memory.
        let stored = call.serializer.source == .file ? call.acceptedStatuses : []
        let response = try await exchange.send(storing: stored, progress: attempt.progress)
        turn.isMultiplexed = exchange.isMultiplexed
        return response
    }

    @inline(never) private func sharedResponse(
        to request: HTTPRequest,
        in generation: Int
    ) async throws(APIError) -> APIResponse? {
        guard request.isShareable else {
            try await turn.takeFirst { cache?.willQueue() }
            return call.isCurrent(generation) && !call.hasSessionEnded ? try await exchange(request) : nil
        }
        // When it has begun to queue, and when it has had its turn.
        let wait = Lock<(start: Duration?, end: Duration?)>((nil, nil))
        defer { attempt.queueTime = wait.withLock { wait in wait.end.map { $0 - (wait.start ?? $0) } } }
        let isFirstTry = attempt.number == 1
        let didQueue = { @Sendable [trace = call.trace, loads = proxy.loads, id = call.id] in
            if isFirstTry { loads.removeTimer(of: id) }
            wait.withLock { if $0.start == nil, $0.end == nil { $0.start = SystemClock.uptime } }
            trace?.didQueue()
        }
        let begin = { @Sendable [proxy, call] in
            wait.withLock { $0.end = $0.end ?? SystemClock.uptime }
            proxy.begin(call)
        }
        return try await proxy.sharedExchanges.response(
            to: request,
            of: call,
            in: generation,
            proxy,
            progress: attempt.progress,
            didQueue: didQueue,
            begin: begin
        )
    }

    // MARK: The cache

    /// Returns the value of a stored response; without one, takes the place of a load that has looked for it first.
    @inline(never) private func storedValue() async throws(APIError) -> LoadedValue<Value>? {
        guard let cache = CacheStage(of: call, in: proxy) else { return nil }
        self.cache = cache
        if let stored = try await CacheReader(cache, for: attempt).value() { return stored }
        if call.queuesLater, !call.isCoalescing { try await turn.takeFirst { cache.willQueue() } }
        return nil
    }

    /// The stage is a new one: the load may have passed over what is stored.
    @inline(never) private static func fallbackValue(
        for attempt: LoadAttempt<Value>,
        after error: APIError
    ) async -> LoadedValue<Value>? {
        let (call, proxy) = (attempt.call, attempt.proxy)
        guard error.isOfUnreachableServer, proxy.loads.contains(call.id),
            let cache = CacheStage(of: call, in: proxy, hasMissed: true)
        else { return nil }
        return await CacheReader(cache, for: attempt).fallbackValue()
    }

    /// Sends a request with the conditions of a stored response, or uses one that was stored while the load was in the queue.
    ///
    /// Returns `nil` if the request is to be made again.
    @inline(never) private func cachedExchange(
        _ request: HTTPRequest,
        _ cache: CacheStage,
        isPrepared: Bool,
        in generation: Int
    ) async throws(APIError) -> APIResponse? {
        var step = CacheStage.Step.send(request, nil)
        if !isPrepared {
            let hasKey = cache.use.policy.isRule && !call.service.adapters.isEmpty
            let key = hasKey ? try await attempt.request(isKey: true) : nil
            // The app's headers have been read once more.
            guard call.isCurrent(generation) else { return nil }
            step = try cache.step(for: request, keyRequest: key)
            if case .send(_, let miss) = step { cache.didMiss(miss) }
        }
        switch step {
        case .use(let response):
            cache.didUse(response)
            return response
        case .send(let sent, _):
            do throws(APIError) {
                let response =
                    call.isCoalescing ? try await sharedResponse(to: sent, in: generation) : try await exchange(sent)
                guard let response else { return nil }
                let received = try cache.receive(response)
                if received == nil { turn.keepPlace() }
                return received
            } catch {
                guard let stale = try cache.response(after: error) else { throw error }
                cache.didUse(stale)
                return stale
            }
        }
    }

    // MARK: Streams

    /// Also a stream that has lost its connection to the login server connects again.
    @inline(never) private func recover(from failure: APIError, in login: SentLogin?) async throws(APIError) {
        do throws(APIError) {
            recovery.sentMethod = attempt.sentMethod
            // Also of a load that is cancelled before it is sent with the new login.
            defer { hasNeededLogin = recovery.hasNeededLogin }
            try await recovery.recover(from: failure, in: login, turn.slot, attempt.failureContext())
            attempt.begin()
        } catch {
            guard call.stream != nil, try await reconnects(after: error) else { throw error }
        }
    }

    private func streamedExchange(
        _ request: HTTPRequest,
        _ handler: any StreamHandler,
        in login: SentLogin
    ) async throws(APIError) -> APIResponse {
        try turn.slot.send()
        defer { didSend() }
        let (exchange, stream) = makeExchange(request, handler, in: login)
        let result: Result<APIResponse, APIError>
        do throws(TransportError) {
            result = .success(try await exchange.response(attempt.progress))
            // What was stored while it arrived may be older.
            exchange.invalidate()
        } catch {
            result = .failure(exchange.failure(error))
        }
        let response = try await stream.end(with: result)
        turn.isMultiplexed = exchange.isMultiplexed
        return response
    }

    @inline(never) private func makeExchange(
        _ request: HTTPRequest,
        _ handler: any StreamHandler,
        in login: SentLogin
    ) -> (Exchange, ResponseStream) {
        // Finds nothing, but knows what the request may change.
        _ = try? cache?.step(for: request)
        let stream = ResponseStream(for: handler) { [call, hasNeededLogin] in
            // Not at the end, which may be hours later.
            if call.renewsLogin { call.service.login.didSucceed(with: login, hasNeededOne: hasNeededLogin) }
        } didFail: { [proxy, id = call.id] in
            proxy.loads.stopWork(of: id)
        }
        var request = request
        handler.prepare(&request)
        request.destination = .stream(HTTPBodySink(stream))
        return (attempt.makeExchange(request, cache), stream)
    }

    /// Returns whether the stream is to be requested again, and waits until then.
    @inline(never) private func reconnects(after error: APIError?) async throws(APIError) -> Bool {
        guard let stream = call.stream, error?.type != .cancelled else { return false }
        guard let delay = stream.reconnectionDelay(after: error) else {
            // Elements would repeat if the request were sent again.
            guard let error, stream.isDecided else { return false }
            throw await recovery.finalError(attempt.failure(error), turn.slot, attempt.failureContext())
        }
        turn.leave()
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        if hasNeededLogin, let error { recovery.didEnd(with: error) }
        // Its relogins and retries are those of one connection.
        (recovery, hasNeededLogin) = (LoadRecovery(call, in: proxy), false)
        proxy.loads.resetSentAgain(call.id)
        try await recovery.wait(for: .retry, limit: delay)
        attempt.begin()
        return true
    }

    // MARK: Without sending

    /// Returns what the load would send now, with its cookies, without a place in the queue.
    @concurrent func prepare() async throws(APIError) -> HTTPRequest {
        attempt.begin()
        var request: HTTPRequest
        do throws(APIError) {
            request = try await attempt.request()
        } catch {
            try await recovery.recover(from: error, in: nil, turn.slot, nil)
            do throws(APIError) {
                request = try await attempt.request()
            } catch {
                throw error.withoutRequestedRetry
            }
        }
        call.stream?.prepare(&request)
        do {
            return try attempt.makeExchange(request).nextRequest()
        } catch {
            throw APIError(error)
        }
    }
}
