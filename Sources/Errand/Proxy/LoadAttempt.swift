import Foundation

/// The tries of one load: the number of the current one, its request, and what its response or its failure is for the load.
///
/// A class, because each asynchronous function would reserve memory for several copies of a structure.
final class LoadAttempt<Value: Sendable> {
    let call: Call<Value>
    let proxy: APIProxy
    /// From 1 on.
    private(set) var number: Int
    /// The time in the queue before the first turn; not used for a later try.
    var queueTime: Duration?
    /// Of the last request; boxed, because most loads have no adapters.
    private var context: Boxed<AdapterContext>?
    /// That of the last request before its adapters, which a signature changes with each attempt; only for a resumable download.
    private var plainURL: URL?

    init(_ call: Call<Value>, in proxy: APIProxy, number: Int = 0) {
        (self.call, self.proxy, self.number) = (call, proxy, number)
    }

    // What is inlined into an asynchronous function increases the memory of each load in progress.

    @inline(never) func begin() {
        number += 1
        context = nil
        call.trace?.beginTry()
    }

    // MARK: The request

    /// Whether the app could not make the common headers of the last one.
    private(set) var lacksHeaders = false

    /// One for a lookup in the cache is never sent: adapters that sign or seal need no network for it.
    ///
    /// `isKey` is for the request without adapters, which is the key of a stored response for the rules of an app.
    func request(isOfLookup: Bool = false, isKey: Bool = false) async throws(APIError) -> HTTPRequest {
        lacksHeaders = true
        let common = try await call.service.common(isOfLookup: isOfLookup)
        lacksHeaders = common.lacksHeaders
        if isKey || call.service.adapters.isEmpty { return try plainRequest(with: common) }
        return try await adaptedRequest(with: common, isOfLookup)
    }

    @inline(never) private func plainRequest(with common: CommonValues) throws(APIError) -> HTTPRequest {
        var request = try complete(RequestBuilder(call.draft, for: call.service).request(with: common))
        request.validateAhead()
        return request
    }

    private func adaptedRequest(with common: CommonValues, _ isOfLookup: Bool) async throws(APIError) -> HTTPRequest {
        var context = call.adapterContext(attempt: number, clock: proxy.clock)
        context.isOfLookup = isOfLookup
        if !isOfLookup {
            guard let send = proxy.loads.countSend(of: call.id) else { throw APIError(.cancelled) }
            (context.attempt, context.sentAgain) = send
        }
        let request = try complete(
            await RequestBuilder(call.draft, for: call.service).adaptedRequest(with: common, context)
        )
        context.request = request
        // The path may need a parameter of an adapter.
        if call.draft.resumesDownload { plainURL = (try? plainRequest(with: common))?.url }
        self.context = Boxed(wrappedValue: context)
        return request
    }

    private func complete(_ request: HTTPRequest) throws(APIError) -> HTTPRequest {
        // Checked when the headers have been read: after a logout they may be those of another account.
        guard proxy.loads.contains(call.id), !call.hasSessionEnded else { throw APIError(.cancelled) }
        return call.draft.followsLink ? try call.service.withoutSecrets(request) : request
    }

    @inline(never) func makeExchange(_ request: HTTPRequest, _ cache: CacheStage? = nil) -> Exchange {
        let (session, trace) = (call.cookieSession(by: proxy.clock), call.trace?.makeExchangeTrace())
        let exchange = Exchange(request, id: call.id, session: session, proxy: proxy, trace: trace)
        exchange.cache = cache
        if call.draft.resumesDownload { exchange.resumption = (plainURL ?? request.url, isComplete) }
        // Adapters may open what is sealed.
        if !call.service.adapters.adaptsResponses { exchange.bodyCheck = call.serializer.bodyCheck }
        return exchange
    }

    private func isComplete(_ response: APIResponse) -> Bool {
        (try? reader.checkedBody(of: response, by: call.serializer, accepting: statuses)) != nil
    }

    var progress: TransferProgress.Handler? {
        guard let report = call.progress, number > 1 else { return call.progress }
        return { [number] progress in
            var progress = progress
            progress.attempt = number
            report(progress)
        }
    }

    var sentMethod: HTTPMethod? { context?.wrappedValue.request?.method }

    // MARK: The response

    private var reader: ResponseReader { ResponseReader(call.service, trace: call.trace) }
    private var statuses: Set<Int> { call.acceptedStatuses }

    func value(in response: APIResponse) throws(APIError) -> LoadedValue<Value> {
        try checkFile(of: response)
        return try reader.read(response, by: call.serializer, accepting: statuses)
    }

    /// Throws the failure in a response that does not replace a part.
    private func checkFile(of response: APIResponse) throws(APIError) {
        guard call.draft.resumesDownload, response.file == nil else { return }
        _ = try reader.checkedBody(of: response, by: call.serializer, accepting: statuses)
    }

    /// `cache` has made the response, or is to store it.
    func value(in response: APIResponse, _ cache: CacheStage?) async throws(APIError) -> LoadedValue<Value> {
        guard let context = context?.wrappedValue else { return try value(in: response) }
        var response = response
        if cache?.skipsAdapters != true {
            do throws(APIError) {
                response = try await call.service.adapt(response, in: context)
            } catch {
                // In the place of the file, the server may have sent a failure, of which no digest knows.
                guard error.underlying is DigestMismatch, response.file != nil else { throw error }
                _ = try reader.checked(response, by: call.serializer, accepting: statuses)
                throw error
            }
            cache?.didAdapt(response)
        }
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        guard !call.service.adapters.data.isEmpty else { return try value(in: response) }
        try checkFile(of: response)
        return try await reader.read(response, by: call.serializer, accepting: statuses, adaptedIn: context)
    }

    /// Reads a response for which nothing was sent.
    func storedValue(in response: APIResponse, _ cache: CacheStage) async throws(APIError) -> LoadedValue<Value> {
        guard call.service.adapters.adaptsResponses else { return try value(in: response) }
        if context == nil {
            context = makeContext()
            context?.wrappedValue.isOfLookup = true
        }
        return try await value(in: response, cache)
    }

    @inline(never) func label(_ response: APIResponse) -> APIResponse {
        call.trace?.label(response) ?? response.withLoad(call.id, attempt: number, queueTime: queueTime)
    }

    // MARK: The failure

    /// Discards the file of the load.
    @inline(never) func failure(_ error: APIError) -> APIError {
        // An error with a complete response is one of what it contains.
        // After a cancel, the owner of the ending discards it: the load may have another one since.
        if !Task.isCancelled { proxy.loads.discardFile(of: call.id, isRefused: error.refusesFile) }
        let error = number > 1 ? error.afterSending : error
        let own = call.trace?.label(error) ?? error.withLoad(call.id, attempt: number, queueTime: queueTime)
        return own.withoutFile
    }

    /// For the adapters of failures; `nil` without them.
    @inline(never) func failureContext() -> Boxed<AdapterContext>? {
        guard !call.service.adapters.failure.isEmpty else { return nil }
        if let context, !context.wrappedValue.isOfLookup { return context }
        return makeContext()
    }

    private func makeContext() -> Boxed<AdapterContext> {
        Boxed(wrappedValue: call.adapterContext(attempt: number, clock: proxy.clock))
    }
}

extension APIError {
    /// A file of the body may have disappeared since the first try.
    fileprivate var afterSending: APIError {
        guard type == .invalidRequest, (underlying as? TransportError)?.underlying is SystemError else { return self }
        return APIError(.storage, reason: reason, underlying: underlying)
    }
}
