import Foundation

/// What the cache does for one load: before its exchange and after it.
///
/// A class whose steps are not inlined, as ``LoadAttempt`` is.
final class CacheStage {
    /// What to do with a request.
    enum Step {
        case use(APIResponse)
        /// With the conditions of a stored response, if there is one.
        case send(HTTPRequest, CacheMiss?)
    }

    let use: CacheUse
    private let id: RequestID
    private let cookies: CookieJar?
    private let statuses: Set<Int>
    /// A rule finds what was stored with an earlier token of the same user, whose session the folder is of.
    private let ignoresToken: Bool
    private let proxy: APIProxy
    private let trace: LoadTrace?
    /// Begins the load that validates what was used.
    private let revalidate: (URL) -> Void
    /// The last one.
    private var lookup: CacheLookup?
    /// Those of the addresses that have redirected the request.
    private var former: [CacheLookup] = []
    /// Confirmed by a 304.
    private var validated: CacheEntry?
    private var orOnError: CacheEntry?
    private var orOffline: CacheEntry?
    /// What is stored when the load has succeeded.
    private var pending: APIResponse?
    private var used: CacheEntry?
    /// Whether what was used is to be validated by another load.
    private var isStale = false
    private var isBypassed = false
    /// Made for the lookup with the login of a generation, and sent if the load had not to wait.
    var prepared: (request: HTTPRequest, generation: Int)?
    /// Whether it has made the last response itself.
    private var isGenerated = false
    private var hasMissed: Bool

    /// `nil` without a cache; `hasMissed` is whether another stage has looked for a response before.
    init?<Value>(of call: Call<Value>, in proxy: APIProxy, hasMissed: Bool = false) {
        guard let use = call.cache else { return nil }
        (self.use, self.proxy, self.hasMissed) = (use, proxy, hasMissed)
        (id, cookies, trace, statuses) = (call.id, call.cookies, call.trace, call.acceptedStatuses)
        ignoresToken =
            use.policy.isRule && call.service.reloginHandler != nil && call.draft.headers["Authorization"] == nil
        revalidate = { proxy.revalidate(call, $0) }
    }

    // MARK: Before the exchange

    /// Returns what to do with a request; `keyRequest` is the one without adapters, for the rules of an app, and `former` has the
    /// lookups of the addresses that have redirected the request.
    @inline(never) func step(
        for request: HTTPRequest,
        keyRequest: HTTPRequest? = nil,
        after former: [CacheLookup] = []
    ) throws(APIError) -> Step {
        self.former = former
        // Before the cookies, of which some may have expired, and others have been changed by another process.
        let date = proxy.clock.date
        cookies?.refresh(at: proxy.clock.uptime, date: date)
        // A cookie that the response sets is not one of the request.
        var keyRequest = keyRequest ?? request
        if keyRequest.headers["Cookie"] == nil, let cookie = cookies?.header(for: keyRequest.url, at: date) {
            keyRequest.headers["Cookie"] = cookie
        }
        if ignoresToken { keyRequest.headers["Authorization"] = nil }
        (validated, orOnError, orOffline, used) = (nil, nil, nil, nil)
        (isGenerated, isStale) = (false, false)
        var entries: [CacheEntry]?
        let lookup = try CacheLookup(request, keyRequest, by: use, at: date, &entries)
        self.lookup = lookup
        guard let entries else {
            return use.policy == .onlyIfCached ? .use(gatewayTimeout(request)) : .send(request, nil)
        }
        let decision = use.rule.decision(
            for: keyRequest,
            isBypassed ? [] : entries,
            at: date,
            usesHeuristics: use.cache.usesHeuristics
        )
        switch decision {
        case .fail: return .use(gatewayTimeout(request))
        case .use(let entry, let age, let isStale):
            guard let response = try response(of: entry, to: request, .cache, age: age) else {
                return use.policy == .onlyIfCached ? .use(gatewayTimeout(request)) : .send(request, .unreadable)
            }
            (used, self.isStale) = (entry, isStale)
            return .use(response)
        case .send(let miss, let entry, let orOnError, let orOffline):
            (validated, self.orOnError, self.orOffline) = (entry, orOnError, orOffline)
            guard let conditions = entry?.stored.conditions else {
                return .send(request, miss == .absent && lookup.hasOthers && !isBypassed ? .varies : miss)
            }
            return .send(request.validating(conditions), miss)
        }
    }

    /// Returns what is stored of the address that a redirect leads to; without it, `request`, which is sent there, has the
    /// conditions of what is stored.
    ///
    /// Only after requests that read. A rule of an app stores the last response as that of the first address.
    @inline(never) func follow(_ request: inout HTTPRequest) throws(APIError) -> APIResponse? {
        // What has changed something on the server must not be sent again for a response that is of no use.
        guard let lookup, [.get, .head].contains(lookup.request.method), use.policy != .bypass, !use.policy.isRule
        else { return nil }
        // Those that it has are of the address before.
        if validated != nil { request = request.validating(lookup.request.headers) }
        switch try step(for: request, after: former + [lookup]) {
        case .use(let stored): return stored
        case .send(let sent, _):
            request = sent
            return nil
        }
    }

    /// RFC 9111 section 5.2.1.7.
    private func gatewayTimeout(_ request: HTTPRequest) -> APIResponse {
        isGenerated = true
        return APIResponse(HTTPResponse(status: 504), to: id, url: request.url)
    }

    // MARK: A stored response

    /// `nil` for a body that is damaged, which is removed.
    private func response(
        of entry: CacheEntry,
        to request: HTTPRequest,
        _ source: APIResponse.Source,
        age: Duration
    ) throws(APIError) -> APIResponse? {
        guard let folder = use.folder, use.cache.isCurrent(folder) else { return nil }
        guard request.destination != .memory || entry.stored.bodyLength <= request.limits.bodyBytes else { return nil }
        guard let (response, body) = entry.response(to: request, isRule: use.policy.isRule, age: age) else {
            folder.removeDamaged(entry)
            return nil
        }
        folder.didUse(entry)
        let redirects = former.map(\.request.url)
        let received = APIResponse(response, to: id, url: entry.stored.url, redirects: redirects)
        var answer: APIResponse? = received
        if request.destination != .memory {
            let exchange = Exchange(request, id: id, session: nil, proxy: proxy, trace: nil)
            answer = try exchange.stored(received, body, accepting: statuses)
        }
        if answer == nil { folder.removeDamaged(entry) }
        return answer?.from(source, age: age, at: proxy.clock.uptime)
    }

    @inline(never) func didUse(_ response: APIResponse) {
        if used == nil { didMiss(.absent) } else { trace?.emit(.respondedFromCache(response)) }
        if isStale { revalidate(response.url) }
    }

    /// Emitted once, although a load that has queued looks again.
    func didMiss(_ miss: CacheMiss?) {
        guard let miss, !hasMissed else { return }
        hasMissed = true
        trace?.emit(.missedCache(miss))
    }

    /// Whether response adapters have had it, or must not have it.
    var skipsAdapters: Bool { isGenerated || used?.stored.isAdapted == true }

    /// Returns `nil` for a request that was made before a relogin, which has the old login.
    @inline(never) func takePrepared(in generation: Int) -> HTTPRequest? {
        guard let prepared = exchange(&prepared, with: nil) else { return nil }
        guard prepared.generation != generation else { return prepared.request }
        proxy.loads.uncountSend(of: id)
        return nil
    }

    /// Keeps no file open while a load queues that shares no exchange, and looks again afterwards.
    func willQueue() {
        // Not sent: the request is made again.
        if prepared != nil { proxy.loads.uncountSend(of: id) }
        (prepared, validated, orOnError, orOffline) = (nil, nil, nil, nil)
    }

    /// What has been shown is not what the load ends with.
    func didShow() { used = nil }

    /// The next lookup finds nothing, because what was used is of no use to the load, and `isUseless` to any other.
    func bypass(isUseless: Bool) {
        if isUseless, let used { use.folder?.remove(used) }
        isBypassed = true
    }

    /// What may be used although it is stale; of the app's own rules, whatever its age.
    @inline(never) func staleResponse(isOffline: Bool = true) throws(APIError) -> APIResponse? {
        guard let entry = isOffline ? orOffline : orOnError, let request = lookup?.request, use.usesStale else {
            return nil
        }
        let date = proxy.clock.date
        let stay = max(.zero, Duration.seconds(date.timeIntervalSince(entry.stored.responseDate)))
        let age = use.policy.isRule ? stay : entry.stored.age(at: date) ?? stay
        guard let response = try response(of: entry, to: request, .cache, age: age) else { return nil }
        used = entry
        return response
    }

    /// Removes what a request may have changed, when the head of its response arrives, because the end may be hours later, and
    /// after an exchange that has failed.
    @inline(never) var invalidation: (@Sendable (APIResponse) -> Void)? {
        guard let lookup, ![.get, .head].contains(lookup.request.method) else { return nil }
        return { lookup.invalidate(after: $0) }
    }

    // MARK: After the exchange

    /// Returns the response of the load; `nil` if it must be sent again, without conditions.
    @inline(never) func receive(_ response: APIResponse) throws(APIError) -> APIResponse? {
        pending = nil
        // A redirect has led to what is stored.
        let isStored = isGenerated || response.source == .cache
        guard let received = isStored ? response : try received(response) else { return nil }
        for lookup in former { lookup.didMove(to: received) }
        if isStored { didUse(received) }
        return received
    }

    private func received(_ response: APIResponse) throws(APIError) -> APIResponse? {
        guard let lookup else { return response }
        let date = proxy.clock.date
        lookup.didSend(at: date - response.duration / .seconds(1), isFollowed: !former.isEmpty)
        lookup.invalidate(after: response)
        if [500, 502, 503, 504].contains(response.status), !use.policy.isRule,
            let stale = try staleResponse(isOffline: false)
        {
            didUse(stale)
            return stale
        }
        if response.status == 304, let entry = validated {
            guard isOfLookup(response),
                let updated = entry.stored.updated(by: response.headers, requestDate: lookup.date, responseDate: date),
                let stored = try self.response(
                    of: CacheEntry(stored: updated, body: entry.body, name: entry.name, key: entry.key),
                    to: lookup.request,
                    .validated,
                    age: updated.age(at: date) ?? .zero
                )
            else {
                isBypassed = true
                return nil
            }
            lookup.update(entry, to: updated)
            used = entry
            didUse(stored)
            return stored
        }
        // Nothing of the address before a redirect says that it may be stored.
        guard isOfLookup(response) || use.policy.isRule else {
            lookup.didMove(to: response)
            return response
        }
        lookup.update(byHead: response, at: date)
        pending = response
        return response
    }

    /// Redirects that loads with an exchange in common, or with a file, follow are not looked up.
    private func isOfLookup(_ response: APIResponse) -> Bool { response.redirects.count == former.count }

    /// Returns a stored response for an exchange without a response (RFC 5861 section 4).
    @inline(never) func response(after error: APIError) throws(APIError) -> APIResponse? {
        guard !use.policy.isRule, error.isOfUnreachableServer else { return nil }
        return try staleResponse()
    }

    /// For a service whose responses are stored as its adapters have made them.
    func didAdapt(_ response: APIResponse) {
        if use.storesAdapted, pending != nil { pending = response }
    }

    var forget: (@Sendable () -> Void)? { lookup?.forget }

    func end<Value>(with loaded: LoadedValue<Value>) -> LoadedValue<Value> {
        guard end(with: nil) || used != nil else { return loaded }
        return LoadedValue(value: loaded.value, response: loaded.response.forgotten(by: forget))
    }

    /// Returns whether the load is to be sent again because a stored response cannot be decoded, for example after an update of
    /// the app, or is sealed for another load.
    @inline(never) func didFail(with error: APIError) -> Bool {
        let isStored = end(with: error)
        if used != nil, !isBypassed, [.decoding, .security].contains(error.type), proxy.loads.contains(id) {
            bypass(isUseless: error.isOfSerializer)
            return true
        }
        // Not what has just failed.
        if error.response != nil, isStored || used != nil { bypass(isUseless: false) }
        return false
    }

    /// Stores what was received when the load has succeeded, or failed for a reason that a stored response may repeat; returns
    /// whether there was something to store.
    @inline(never) private func end(with error: APIError?) -> Bool {
        guard let response = exchange(&pending, with: nil), let lookup else { return false }
        if let error, use.policy.isRule || ![.http, .server].contains(error.type) { return false }
        return lookup.store(response, at: proxy.clock.date)
    }
}

extension HTTPRequest {
    /// Has the conditions of these lines; its own are compared with the response.
    fileprivate func validating(_ lines: HTTPHeaders) -> HTTPRequest {
        var request = self
        for name in ["If-None-Match", "If-Modified-Since"] {
            request.headers.remove(name)
            for line in lines.fields(named: name) { request.headers.append(line) }
        }
        return request
    }
}

extension APIError {
    /// Whether any load finds the same: an adapter may throw an error that passes.
    var isOfSerializer: Bool { type == .decoding && (underlying == nil || underlying is DecodingError) }

    /// Also as an adapter has found, in a response of a captive portal for example.
    var isOfUnreachableServer: Bool { [.noNetwork, .timeout, .transport].contains(type) }
}
