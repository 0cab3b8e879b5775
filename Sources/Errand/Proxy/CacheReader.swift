/// Ends a load with a stored response instead of an exchange.
///
/// A class, as ``LoadAttempt`` is.
final class CacheReader<Value: Sendable> {
    private let attempt: LoadAttempt<Value>
    private let call: Call<Value>
    private let proxy: APIProxy
    private let cache: CacheStage
    private var use: CacheUse { cache.use }

    init(_ cache: CacheStage, for attempt: LoadAttempt<Value>) {
        (self.attempt, call, proxy) = (attempt, attempt.call, attempt.proxy)
        self.cache = cache
    }

    /// Returns the value of a stored response, before the load has a place in the queue; `nil` without one.
    @inline(never) func value() async throws(APIError) -> LoadedValue<Value>? {
        let readsFirst = use.readsFirst(call.draft.method)
        let generation = call.service.login.generation
        if readsFirst, let lookup = await lookup() {
            switch try cache.step(for: lookup.request) {
            case .use(let response):
                if let value = try await value(of: response) { return value }
                // Nothing is sent, not even by an adapter.
                if use.policy == .onlyIfCached, case .use(let timeout) = try cache.step(for: lookup.request),
                    let value = try await value(of: timeout)
                {
                    return value
                }
            case .send(let request, let miss):
                cache.didMiss(miss)
                if let show = use.show { show(try await shownValue()) }
                if lookup.isSent { cache.prepared = (request, generation) }
                if let error = lookup.error, let value = try await value(of: cache.response(after: error)) {
                    return value
                }
            }
        } else {
            use.show?(nil)
        }
        guard use.failsWithoutNetwork else { return nil }
        let error = APIError(.noNetwork, reason: "there is no network, and failsWhenUnreachable is true")
        guard let value = try await value(of: cache.response(after: error)) else { throw error }
        return value
    }

    /// For a load that has failed because there is no network.
    @inline(never) func fallbackValue() async -> LoadedValue<Value>? {
        do throws(APIError) {
            let request = try await attempt.request(isOfLookup: true, isKey: true)
            guard case .send = try cache.step(for: request) else { return nil }
            return try await value(of: cache.staleResponse())
        } catch {
            return nil
        }
    }

    /// For the rules of an app, the request without adapters: they may need the network.
    ///
    /// `isSent` says whether the request is what the load sends without a stored response, `error` why there is none to send.
    private func lookup() async -> (request: HTTPRequest, isSent: Bool, error: APIError?)? {
        var failure: APIError?
        do throws(APIError) {
            if use.policy.isRule {
                let request = try await attempt.request(isOfLookup: true, isKey: true)
                return (request, call.service.adapters.isEmpty && !attempt.lacksHeaders, nil)
            }
            if use.policy != .onlyIfCached { return (try await attempt.request(), true, nil) }
        } catch {
            // It fails again where it would be sent, which decides what follows.
            let mayDoWithout =
                attempt.lacksHeaders || call.service.adapters.request.contains { $0.owner is any LookupAdapter }
            guard !use.policy.isRule, mayDoWithout, error.isOfUnreachableServer else { return nil }
            failure = error
        }
        return (try? await attempt.request(isOfLookup: true)).map { ($0, false, failure) }
    }

    @inline(never) private func shownValue() async throws(APIError) -> (any Sendable, APIResponse)? {
        guard let value = try await value(of: cache.staleResponse()) else { return nil }
        cache.didShow()
        return (value.value, value.response)
    }

    /// Returns `nil` for a response that is of no use to the app any more, such as one of an older version of its types.
    private func value(of response: APIResponse?) async throws(APIError) -> LoadedValue<Value>? {
        guard let response = response.map(attempt.label) else { return nil }
        do throws(APIError) {
            let value = try await attempt.storedValue(in: response.forgotten(by: cache.forget), cache)
            cache.didUse(response)
            return value
        } catch {
            guard error.type != .cancelled, proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
            guard use.policy.isRule || ![.http, .server].contains(error.type) else {
                cache.didUse(response)
                throw attempt.failure(error)
            }
            proxy.loads.discardFile(of: call.id)
            cache.bypass(isUseless: error.isOfSerializer)
            cache.didMiss(.unreadable)
            return nil
        }
    }
}
