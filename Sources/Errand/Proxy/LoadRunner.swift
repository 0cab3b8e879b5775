import Foundation
import Synchronization

/// Carries one load from its place in the queue to its response, off the main actor.
///
/// A class, because each asynchronous function would reserve memory for several copies of a structure.
final class LoadRunner<Value: Sendable> {
    private let call: Call<Value>
    private let proxy: APIProxy
    private var slot: QueueSlot
    private var place = Place.held
    /// From the beginning of the load to its first turn.
    private var queueTime: Duration?
    private var tries = 0
    /// Boxed, because most loads have no adapters.
    private var send: Boxed<AdapterContext>?
    private lazy var recovery = LoadRecovery(call, in: proxy)
    /// `nil` without a cache.
    private var cache: CacheStage?

    /// What is known of the place in the queue, so that it is neither taken nor left twice.
    private enum Place {
        case held, left, unknown
    }

    /// `slot` is `nil` without a place in the queue.
    init(_ call: Call<Value>, in proxy: APIProxy, slot: QueueSlot? = nil) {
        self.call = call
        self.proxy = proxy
        queueTime = slot?.queueTime
        self.slot =
            if let slot, !call.queuesLater { slot } else {
                QueueSlot(proxy.queue, number: call.id.queueNumber, lane: nil, heldLane: call.exchangeLane)
            }
    }

    /// Returns what a load would send now, with its cookies, without a place in the queue.
    @concurrent static func prepare(_ call: Call<Value>, in proxy: APIProxy) async throws(APIError) -> HTTPRequest {
        try await LoadRunner(call, in: proxy).prepare()
    }

    /// Returns the stored response of a load whose deadline has passed; `nil` without one, or if it is of no use.
    @concurrent static func fallback(of call: Call<Value>, in proxy: APIProxy) async -> LoadedValue<Value>? {
        let runner = LoadRunner(call, in: proxy)
        runner.tries = 1
        return await runner.fallbackValue(after: Interruption.timeout)
    }

    func result() async -> Result<LoadedValue<Value>, APIError> {
        do throws(APIError) {
            return .success(try await run())
        } catch {
            guard call.options.cache?.rule == .fallback, let stored = await fallbackValue(after: error) else {
                return .failure(error)
            }
            return .success(stored)
        }
    }

    private func run() async throws(APIError) -> LoadedValue<Value> {
        defer { leavePlace() }
        // The service's closures are not called for a load that was cancelled before its turn.
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        call.service.retryBudget.countRequest(at: proxy.clock.uptime)
        beginTry()
        if let use = call.options.cache, let stored = try await storedValue(use) { return stored }
        while true {
            var sent: SentLogin?
            do throws(APIError) {
                let login = try await turn()
                sent = login
                guard let response = try await response(in: login) else { continue }
                if call.options.stream != nil, try await reconnects(after: nil, in: login) { continue }
                let isAdapted = call.service.adapters.adaptsResponses
                let loaded = isAdapted ? try await adaptedValue(in: response) : try value(in: response)
                if call.renewsLogin { call.service.login.didSucceed(with: login) }
                guard let cache else { return loaded }
                return cache.end(with: loaded)
            } catch {
                place = .unknown
                cache?.end(with: error)
                if cache?.bypass(after: error) == true { continue }
                // Not what has just failed.
                if error.response != nil { cache?.bypass(isUseless: false) }
                if call.options.stream != nil, try await reconnects(after: error, in: sent) { continue }
                try await recovery.recover(from: failure(error), in: sent, slot, failureContext(sent))
                beginTry()
            }
        }
    }

    // What is inlined into an asynchronous function increases the memory of each load in progress.

    @inline(never) private func beginTry() {
        tries += 1
        send = nil
        call.trace?.beginTry()
    }

    @inline(never) private func failureContext(_ login: SentLogin?) -> Boxed<AdapterContext>? {
        guard !call.service.adapters.failure.isEmpty else { return nil }
        let generation = login?.generation ?? call.service.login.generation
        if let send { return send }
        return Boxed(wrappedValue: call.adapterContext(attempt: tries, in: generation, clock: proxy.clock))
    }

    @inline(never) private func label(_ response: APIResponse) -> APIResponse {
        if let trace = call.trace { return trace.label(response) }
        return response.withLoad(call.id, attempt: tries, queueTime: queueTime)
    }

    private func label(_ error: APIError) -> APIError {
        if let trace = call.trace { return trace.label(error) }
        return error.withLoad(call.id, attempt: tries, queueTime: queueTime)
    }

    /// Discards the file of the load.
    @inline(never) private func failure(_ error: APIError) -> APIError {
        // An error with a complete response is one of what it contains.
        // After a cancel, the owner of the ending discards it: the load may have another one since.
        if !Task.isCancelled { proxy.loads.discardFile(of: call.id, isRefused: error.refusesFile) }
        return label(error).withoutFile
    }

    /// Waits for the load's turn and for the login to send with.
    ///
    /// The login is that of the turn, because a load may queue longer than one is valid. A load that waits for a login releases
    /// its place in the queue, and returns to it before those that have begun later.
    private func turn() async throws(APIError) -> SentLogin {
        while true {
            if place != .held { try await takePlace() }
            let login = call.service.login
            guard call.renewsLogin else { return login.current }
            if tries == 1, let refusal = login.refusal(of: call.id) { throw refusal }
            if let current = login.current(by: proxy.clock) { return current }
            call.willWaitForLogin()
            place = .unknown
            let newest = try await login.ready(call.id, slot, for: call.service, clock: proxy.clock)
            call.trace?.didWaitForLogin(of: newest)
        }
    }

    private func takePlace() async throws(APIError) {
        place = .unknown
        slot = try await slot.acquire()
        place = .held
    }

    private func leavePlace() {
        if place != .left { slot.release() }
        place = .left
    }

    // MARK: One attempt

    /// Returns `nil` if the request is to be made again: a relogin has begun since the headers were made, which may be those of
    /// either login, or the stored response that it has validated is of no use.
    private func response(in login: SentLogin) async throws(APIError) -> APIResponse? {
        // Built after the admission, so that a queued load holds no body, and its headers are current.
        let prepared = cache.flatMap { takePrepared(from: $0, in: login.generation) }
        let request = if let prepared { prepared.request } else { try await request(in: login.generation) }
        guard call.isCurrent(login.generation) else { return nil }
        let received: (APIResponse, isMultiplexed: Bool?)? =
            // A stream has fewer calls below it, because each takes memory while the stream is open.
            if let stream = call.options.stream {
                try await streamedExchange(request, stream, in: login)
            } else if let cache {
                try await cachedExchange(request, cache, prepared?.step, in: login.generation)
            } else if call.isCoalescing { try await sharedResponse(to: request, in: login.generation) } else {
                try await exchange(request)
            }
        guard let (response, isMultiplexed) = received else { return nil }
        return label(receive(response, isMultiplexed, in: login))
    }

    /// Returns `nil` for a request that was made before a relogin, which has the old login.
    @inline(never) private func takePrepared(from cache: CacheStage, in generation: Int) -> CacheStage.Prepared? {
        guard let prepared = Swift.exchange(&cache.prepared, with: nil) else { return nil }
        guard prepared.generation != generation else { return prepared }
        proxy.loads.uncountSend(of: call.id)
        return nil
    }

    /// Releases the place in the queue, once what the response means for the next request is known.
    @inline(never) private func receive(
        _ response: APIResponse,
        _ isMultiplexed: Bool?,
        in login: SentLogin
    ) -> APIResponse {
        if response.status == 429 { recovery.pauseHost(after: response) }
        let keepsPlace = mayBeRefusal(response, of: login)
        slot.didReceive(isMultiplexed: isMultiplexed, keepsPlace: keepsPlace)
        if !keepsPlace { place = .left }
        return response
    }

    /// Returns whether the load keeps its place until the response is read, so that it is the next one to be sent after a relogin.
    ///
    /// So do the first requests with a new login until one of them has succeeded: a later refusal is known to mean that the
    /// login has expired then. Not where an adapter may wait for a load that needs the place.
    private func mayBeRefusal(_ response: APIResponse, of login: SentLogin) -> Bool {
        guard call.renewsLogin, !call.service.adapters.adaptsResponses else { return false }
        return !login.isProven || call.service.loginExpiredStatuses.contains(response.status)
            || response.file == nil && response.body.count <= Self.longestRefusal
    }

    /// In bytes; to read as much takes less time than to send a request.
    private static var longestRefusal: Int { 4_096 }

    @inline(never) private func sharedResponse(
        to request: HTTPRequest,
        in generation: Int
    ) async throws(APIError) -> (APIResponse, isMultiplexed: Bool?)? {
        guard request.isShareable else {
            try await takeFirstPlace()
            return call.isCurrent(generation) ? try await exchange(request) : nil
        }
        let wait = QueueWait()
        defer { if tries == 1 { queueTime = wait.duration } }
        let didQueue = { @Sendable [trace = call.trace, loads = proxy.loads, id = call.id, isFirst = tries == 1] in
            if isFirst { loads.removeTimer(of: id) }
            wait.didQueue()
            trace?.didQueue()
        }
        let begin = { @Sendable [proxy, call] in
            wait.end()
            proxy.begin(call)
        }
        let response = try await proxy.sharedExchanges.response(
            to: request,
            of: call,
            in: generation,
            proxy,
            progress: progress,
            didQueue: didQueue,
            begin: begin
        )
        return response.map { ($0, nil) }
    }

    /// Begins the load's first turn, for which it has not queued yet.
    private func takeFirstPlace() async throws(APIError) {
        // When it is sent again.
        if slot.hasPlace, place == .held { return }
        if !slot.hasPlace { slot = QueueSlot(proxy.queue, number: call.id.queueNumber, lane: call.exchangeLane) }
        if slot.acquireAtOnce() {
            place = .held
            if tries == 1 { queueTime = .zero }
        } else {
            try await waitForFirstPlace()
        }
        proxy.begin(call)
    }

    private func waitForFirstPlace() async throws(APIError) {
        let start = SystemClock.uptime
        defer { if tries == 1 { queueTime = SystemClock.uptime - start } }
        // Not sent: the request is made again.
        if cache?.prepared != nil { proxy.loads.uncountSend(of: call.id) }
        cache?.forgetLookup()
        // The deadline includes the wait of a retry.
        if tries == 1 { proxy.loads.removeTimer(of: call.id) }
        if let lane = call.exchangeLane { _ = proxy.loads.setWaiting(in: lane, of: call.id) }
        call.trace?.didQueue()
        try await takePlace()
    }

    private func exchange(_ request: HTTPRequest) async throws(APIError) -> (APIResponse, isMultiplexed: Bool?) {
        // A cancel has ended the admission.
        try slot.send()
        let exchange = Self.makeExchange(request, of: call, in: proxy)
        // Other serializers read such a response in memory.
        let stored = call.serializer.source == .file ? call.options.acceptedStatuses : []
        return (try await exchange.send(storing: stored, progress: progress), exchange.isMultiplexed)
    }

    // MARK: The cache

    /// Returns the value of a stored response, before the load has a place in the queue; without one, takes the place.
    @inline(never) private func storedValue(_ use: CacheUse) async throws(APIError) -> LoadedValue<Value>? {
        let cache = CacheStage(use, of: call, in: proxy)
        self.cache = cache
        let readsFirst = use.readsFirst(call.draft.method)
        let generation = call.service.login.generation
        if readsFirst, let deadline = call.deadline { proxy.startTimer(of: call.id, for: deadline) }
        let request = readsFirst ? await lookupRequest(use, in: generation) : nil
        if request == nil { use.show?(nil) }
        if let request {
            let step = try cache.step(for: request)
            switch step {
            case .use(let response): if let value = try await value(of: response, from: cache, use) { return value }
            case .send(_, let miss):
                cache.didMiss(miss)
                if let show = use.show { show(try await shownValue(from: cache, use)) }
                if !use.policy.isRule || call.service.adapters.isEmpty {
                    cache.prepared = CacheStage.Prepared(request, step, in: generation)
                }
            }
        }
        if use.failsWithoutNetwork {
            let error = APIError(.noNetwork, reason: "there is no network, and failsWhenUnreachable is true")
            if let stale = try cache.response(after: error), let value = try await value(of: stale, from: cache, use) {
                return value
            }
            throw error
        }
        if readsFirst, !call.isCoalescing { try await takeFirstPlace() }
        return nil
    }

    /// For the rules of an app, the request without adapters: they may need the network.
    private func lookupRequest(_ use: CacheUse, in generation: Int) async -> HTTPRequest? {
        do throws(APIError) {
            guard use.policy.isRule else { return try await request(in: generation) }
            return try await keyRequest()
        } catch {
            // It fails again where it would be sent, which decides what follows.
            return nil
        }
    }

    private func keyRequest() async throws(APIError) -> HTTPRequest {
        let common = try await call.service.common()
        return try plainRequest(with: common)
    }

    /// Returns `nil` for a response that is of no use to the app any more, such as one of an older version of its types.
    private func value(
        of response: APIResponse,
        from cache: CacheStage,
        _ use: CacheUse
    ) async throws(APIError) -> LoadedValue<Value>? {
        let response = label(response)
        do throws(APIError) {
            let value = try await storedValue(in: response.forgotten(by: cache.forget), cache)
            cache.didUse(response)
            if cache.isStale { proxy.revalidate(call, response.url) }
            return value
        } catch {
            guard error.type != .cancelled, proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
            guard use.policy.isRule || ![.http, .server].contains(error.type) else {
                cache.didUse(response)
                throw failure(error)
            }
            proxy.loads.discardFile(of: call.id)
            cache.bypass(isUseless: error.type == .decoding)
            cache.didMiss(.unreadable)
            return nil
        }
    }

    private func storedValue(
        in response: APIResponse,
        _ cache: CacheStage
    ) async throws(APIError) -> LoadedValue<Value> {
        guard call.service.adapters.adaptsResponses else { return try value(in: response) }
        if send == nil {
            send = Boxed(
                wrappedValue: call.adapterContext(attempt: tries, in: call.service.login.generation, clock: proxy.clock)
            )
        }
        return try await adaptedValue(in: response)
    }

    @inline(never) private func shownValue(
        from cache: CacheStage,
        _ use: CacheUse
    ) async throws(APIError) -> (any Sendable, APIResponse)? {
        guard let response = try cache.staleResponse() else { return nil }
        guard let value = try await value(of: response, from: cache, use) else { return nil }
        cache.didShow()
        return (value.value, value.response)
    }

    /// For a load that has failed because there is no network.
    @inline(never) private func fallbackValue(after error: APIError) async -> LoadedValue<Value>? {
        guard let use = call.options.cache, error.isOfUnreachableServer, proxy.loads.contains(call.id) else {
            return nil
        }
        // A new one: the load may have passed over what is stored.
        let cache = CacheStage(use, of: call, in: proxy)
        self.cache = cache
        do throws(APIError) {
            let request = try await keyRequest()
            guard case .send = try cache.step(for: request), let response = try cache.staleResponse() else {
                return nil
            }
            return try await value(of: response, from: cache, use)
        } catch {
            return nil
        }
    }

    /// Sends a request with the conditions of a stored response, or uses one that was stored while the load was in the queue.
    ///
    /// Returns `nil` if the request is to be made again.
    @inline(never) private func cachedExchange(
        _ request: HTTPRequest,
        _ cache: CacheStage,
        _ prepared: CacheStage.Step?,
        in generation: Int
    ) async throws(APIError) -> (APIResponse, isMultiplexed: Bool?)? {
        var step = prepared
        if step == nil {
            let isRule = call.options.cache?.policy.isRule == true
            let key = isRule && !call.service.adapters.isEmpty ? try await keyRequest() : nil
            // The app's headers have been read once more.
            guard call.isCurrent(generation) else { return nil }
            step = try cache.step(for: request, keyRequest: key)
            if case .send(_, let miss)? = step { cache.didMiss(miss) }
        }
        switch step {
        case .use(let response)?:
            cache.didUse(response)
            if cache.isStale { proxy.revalidate(call, response.url) }
            return (response, nil)
        case .send(let sent, _)?:
            do throws(APIError) {
                let received =
                    call.isCoalescing ? try await sharedResponse(to: sent, in: generation) : try await exchange(sent)
                guard let (response, isMultiplexed) = received else { return nil }
                guard let received = try cache.receive(response) else {
                    // The load keeps its place, but no longer for the transport.
                    slot.didReceive(isMultiplexed: isMultiplexed, keepsPlace: true)
                    return nil
                }
                return (received, isMultiplexed)
            } catch {
                guard let stale = try cache.response(after: error) else { throw error }
                cache.didUse(stale)
                return (stale, nil)
            }
        case nil: return nil
        }
    }

    // MARK: Streams

    private func streamedExchange(
        _ request: HTTPRequest,
        _ handler: any StreamHandler,
        in login: SentLogin
    ) async throws(APIError) -> (APIResponse, isMultiplexed: Bool?) {
        try slot.send()
        let (exchange, stream) = makeExchange(request, handler, in: login)
        let result: Result<APIResponse, APIError>
        do throws(APIError) {
            result = .success(try await exchange.send(progress: progress))
        } catch {
            result = .failure(error)
        }
        return (try await stream.end(with: result), exchange.isMultiplexed)
    }

    @inline(never) private func makeExchange(
        _ request: HTTPRequest,
        _ handler: any StreamHandler,
        in login: SentLogin
    ) -> (Exchange, ResponseStream) {
        let stream = ResponseStream(for: handler) { [call] in
            // Not at the end, which may be hours later.
            if call.renewsLogin { call.service.login.didSucceed(with: login) }
        } didFail: { [proxy, id = call.id] in
            proxy.loads.stopWork(of: id)
        }
        var request = handler.prepare(request)
        request.destination = .stream(HTTPBodySink(stream))
        return (Self.makeExchange(request, of: call, in: proxy), stream)
    }

    /// Returns whether the stream is to be requested again, and waits until then.
    @inline(never) private func reconnects(
        after error: APIError?,
        in login: SentLogin?
    ) async throws(APIError) -> Bool {
        guard let stream = call.options.stream, error?.type != .cancelled else { return false }
        switch stream.nextStep(after: error) {
        case .recover: return false
        case .end:
            guard let error else { return false }
            throw await recovery.finalError(failure(error), slot, failureContext(login))
        case .reconnect(let delay):
            leavePlace()
            guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
            // Its relogins and retries are those of one connection.
            recovery = LoadRecovery(call, in: proxy)
            call.trace?.willWait(for: .retry, limit: delay)
            do { try await proxy.clock.sleep(for: delay) } catch { throw APIError(.cancelled) }
            beginTry()
            return true
        }
    }

    private var progress: TransferProgress.Handler? {
        guard let report = call.progress, tries > 1 else { return call.progress }
        return { [tries] progress in
            var progress = progress
            progress.attempt = tries
            report(progress)
        }
    }

    @inline(never) private static func makeExchange(
        _ request: HTTPRequest,
        of call: Call<Value>,
        in proxy: APIProxy
    ) -> Exchange {
        let trace = call.trace?.makeExchangeTrace()
        return Exchange(
            request,
            id: call.id,
            cookies: call.cookies,
            proxy: proxy,
            trace: trace,
            resumes: call.draft.resumesDownload,
            // Adapters may open what is sealed.
            bodyCheck: call.service.adapters.adaptsResponses ? nil : call.serializer.bodyCheck
        )
    }

    private func request(in generation: Int) async throws(APIError) -> HTTPRequest {
        let common = try await call.service.common()
        guard call.service.adapters.isEmpty else { return try await adaptedRequest(with: common, in: generation) }
        return try plainRequest(with: common)
    }

    @inline(never) private func plainRequest(with common: CommonValues) throws(APIError) -> HTTPRequest {
        var request = try complete(RequestBuilder(call.draft, for: call.service).request(with: common))
        request.validateAhead()
        return request
    }

    private func complete(_ request: HTTPRequest) throws(APIError) -> HTTPRequest {
        // Checked when the headers have been read: after a logout they may be those of another account.
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        return call.draft.followsLink ? try call.service.withoutSecrets(request) : request
    }

    private func prepare() async throws(APIError) -> HTTPRequest {
        beginTry()
        let generation = call.service.login.generation
        var request: HTTPRequest
        do throws(APIError) {
            request = try await self.request(in: generation)
        } catch {
            try await recovery.recover(from: error, in: nil, slot, nil)
            do throws(APIError) {
                request = try await self.request(in: generation)
            } catch {
                throw error.withoutRequestedRetry
            }
        }
        do {
            let request = call.options.stream?.prepare(request) ?? request
            return try Self.makeExchange(request, of: call, in: proxy).nextRequest()
        } catch {
            throw APIError(error)
        }
    }

    // MARK: Adapters

    private func adaptedRequest(with common: CommonValues, in generation: Int) async throws(APIError) -> HTTPRequest {
        guard let attempt = proxy.loads.countSend(of: call.id) else { throw APIError(.cancelled) }
        var send = call.adapterContext(attempt: attempt, in: generation, clock: proxy.clock)
        let request = try complete(
            await RequestBuilder(call.draft, for: call.service).adaptedRequest(with: common, send)
        )
        send.request = request
        self.send = Boxed(wrappedValue: send)
        return request
    }

    private func adaptedValue(in response: APIResponse) async throws(APIError) -> LoadedValue<Value> {
        guard let send = send?.wrappedValue else { return try value(in: response) }
        var response = response
        if cache?.skipsAdapters != true {
            response = try await call.service.adapt(response, in: send)
            cache?.didAdapt(response)
        }
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        guard !call.service.adapters.data.isEmpty else { return try value(in: response) }
        let (serializer, statuses) = (call.serializer, call.options.acceptedStatuses)
        return try await ResponseReader(call.service, trace: call.trace).read(
            response,
            by: serializer,
            accepting: statuses,
            adaptedIn: send
        )
    }

    private func value(in response: APIResponse) throws(APIError) -> LoadedValue<Value> {
        let statuses = call.options.acceptedStatuses
        let reader = ResponseReader(call.service, trace: call.trace)
        return try reader.read(response, by: call.serializer, accepting: statuses)
    }
}
