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

    /// A request before it has a place in the queue.
    ///
    /// A class, because the runner would have room for it in every load.
    final class Prepared {
        let request: HTTPRequest
        let step: Step
        /// Of the login that its headers have.
        let generation: Int

        init(_ request: HTTPRequest, _ step: Step, in generation: Int) {
            (self.request, self.step, self.generation) = (request, step, generation)
        }
    }

    let use: CacheUse
    private let id: RequestID
    private let cookies: CookieJar?
    private let statuses: Set<Int>
    private let proxy: APIProxy
    private let trace: LoadTrace?
    private let folder: CacheFolder?
    /// That of the last lookup.
    private var request: HTTPRequest?
    private var keyRequest: HTTPRequest?
    private var key: CacheKey?
    private var requestDate = Date.distantPast
    /// The number of invalidations before the request.
    private var invalidationCount = 0
    /// Whether the last lookup has found what a newer response replaces.
    private var hasFormer = false
    /// Confirmed by a 304.
    private var validated: CacheEntry?
    private var orOnError: CacheEntry?
    private var orOffline: CacheEntry?
    /// What is stored when the load has succeeded.
    private var pending: APIResponse?
    private(set) var used: CacheEntry?
    /// Whether what was used is to be validated by another load.
    private(set) var isStale = false
    private var isBypassed = false
    /// Whether the last lookup has passed over responses to requests with other lines.
    private var hasOthers = false
    /// Made for the lookup, and sent if the load had not to wait.
    var prepared: Prepared?
    /// Whether it has made the last response itself.
    private var isGenerated = false
    private var hasMissed = false

    init<Value>(_ use: CacheUse, of call: Call<Value>, in proxy: APIProxy) {
        (self.use, self.proxy) = (use, proxy)
        (id, cookies, trace, statuses) = (call.id, call.cookies, call.trace, call.options.acceptedStatuses)
        folder = use.folder
    }

    // MARK: Before the exchange

    /// Returns what to do with a request; `keyRequest` is the one without adapters, for the rules of an app.
    @inline(never) func step(
        for request: HTTPRequest,
        keyRequest: HTTPRequest? = nil
    ) throws(APIError) -> Step {
        // Before the cookies, of which some may have expired, and others have been changed by another process.
        requestDate = proxy.clock.date
        cookies?.refresh(at: proxy.clock.uptime, date: requestDate)
        // A cookie that the response sets is not one of the request.
        let keyRequest = withCookies(keyRequest ?? request)
        (self.request, self.keyRequest) = (request, keyRequest)
        (validated, orOnError, orOffline, used, isGenerated) = (nil, nil, nil, nil, false)
        // Before the lookup, which may already find nothing because of one.
        invalidationCount = folder?.invalidationCount ?? 0
        guard let entries = try entries(for: keyRequest) else {
            return use.policy == .onlyIfCached ? .use(gatewayTimeout(request)) : .send(request, nil)
        }
        hasFormer = !entries.isEmpty
        let stored = isBypassed ? [] : entries.map(\.stored)
        let decision = use.rule.decision(
            for: keyRequest,
            stored,
            at: requestDate,
            usesHeuristics: use.cache.usesHeuristics
        )
        switch decision {
        case .fail: return .use(gatewayTimeout(request))
        case .use(let index, let age, let isStale):
            guard let response = try response(of: entries[index], to: request, .cache, age: age) else {
                return .send(request, .unreadable)
            }
            (used, self.isStale) = (entries[index], isStale)
            return .use(response)
        case .send(let miss, let validatedIndex, let errorIndex, let offlineIndex):
            (orOnError, orOffline) = (errorIndex.map { entries[$0] }, offlineIndex.map { entries[$0] })
            guard let validatedIndex, let conditions = entries[validatedIndex].stored.conditions else {
                return .send(request, miss == .absent && hasOthers && !isBypassed ? .varies : miss)
            }
            validated = entries[validatedIndex]
            return .send(request.validating(conditions), miss)
        }
    }

    /// RFC 9111 section 5.2.1.7.
    private func gatewayTimeout(_ request: HTTPRequest) -> APIResponse {
        isGenerated = true
        return APIResponse(HTTPResponse(status: 504), to: id, url: request.url)
    }

    /// `nil` for a request that the cache has nothing to do with.
    private func entries(for request: HTTPRequest) throws(APIError) -> [CacheEntry]? {
        guard use.policy != .none else { return nil }
        hasOthers = false
        func isWanted(_ stored: StoredResponse) -> Bool {
            let isWanted = stored.matches(request)
            hasOthers = hasOthers || !isWanted
            return isWanted
        }
        guard !use.policy.isRule else {
            guard let key = CacheKey(request, by: use.policy) else {
                let reason = "the cachePolicy needs a body that is in memory, without parts, and no longer than 1 MiB"
                throw APIError(.invalidRequest, reason: reason)
            }
            self.key = key
            return folder?.entries(key, where: isWanted)
        }
        key = CacheKey(request.url)
        guard [.get, .head].contains(request.method) else { return nil }
        guard let folder else { return nil }
        let whole = folder.entries(CacheKey(request.url), where: isWanted)
        guard request.headers["Range"] != nil else { return whole }
        return whole + folder.entries(CacheKey(request.url, part: true), where: isWanted)
    }

    private func withCookies(_ request: HTTPRequest) -> HTTPRequest {
        guard request.headers["Cookie"] == nil, let cookie = cookies?.header(for: request.url, at: requestDate) else {
            return request
        }
        var request = request
        request.headers["Cookie"] = cookie
        return request
    }

    // MARK: A stored response

    /// `nil` for a body that is damaged, which is removed.
    private func response(
        of entry: CacheEntry,
        to request: HTTPRequest,
        _ source: APIResponse.Source,
        age: Duration
    ) throws(APIError) -> APIResponse? {
        // Another process may have ended the session.
        guard let folder, folder.isCurrent else {
            folder.map(use.cache.drop)
            return nil
        }
        guard request.destination != .memory || entry.stored.bodyLength <= request.limits.bodyBytes else { return nil }
        guard let (response, body) = entry.response(to: request, isRule: use.policy.isRule, age: age) else {
            folder.removeDamaged(entry)
            return nil
        }
        folder.didUse(entry)
        let url = entry.stored.url
        guard request.destination != .memory else {
            return APIResponse(response, to: id, url: url).from(source, age: age, at: proxy.clock.uptime)
        }
        let exchange = Exchange(request, id: id, cookies: nil, proxy: proxy, trace: nil)
        guard let answer = try exchange.stored(response, body, url: url, accepting: statuses) else {
            folder.removeDamaged(entry)
            return nil
        }
        return answer.from(source, age: age, at: proxy.clock.uptime)
    }

    @inline(never) func didUse(_ response: APIResponse) {
        trace?.emit(used == nil ? .missedCache(.absent) : .respondedFromCache(response))
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
    @inline(never) func takePrepared(in generation: Int) -> Prepared? {
        guard let prepared = exchange(&prepared, with: nil) else { return nil }
        guard prepared.generation != generation else { return prepared }
        proxy.loads.uncountSend(of: id)
        return nil
    }

    /// Keeps no file open while the load queues, which looks again afterwards.
    func willQueue() {
        // Not sent: the request is made again.
        if prepared != nil { proxy.loads.uncountSend(of: id) }
        (prepared, validated, orOnError, orOffline) = (nil, nil, nil, nil)
    }

    /// What has been shown is not what the load ends with.
    func didShow() { used = nil }

    /// The next lookup finds nothing, because what was used is of no use to the load, and `isUseless` to any other.
    func bypass(isUseless: Bool) {
        if isUseless, let used { folder?.remove(used) }
        isBypassed = true
    }

    /// Returns whether the load is to be sent again because a stored response cannot be decoded, for example after an update of
    /// the app.
    @inline(never) func bypass(after error: APIError) -> Bool {
        guard used != nil, !isBypassed, error.type == .decoding, proxy.loads.contains(id) else { return false }
        bypass(isUseless: true)
        return true
    }

    /// What may be used although it is stale; of the app's own rules, whatever its age.
    @inline(never) func staleResponse(isOffline: Bool = true) throws(APIError) -> APIResponse? {
        guard let entry = isOffline ? orOffline : orOnError, let request, use.usesStale else { return nil }
        let age = max(.zero, Duration.seconds(proxy.clock.date.timeIntervalSince(entry.stored.responseDate)))
        guard let response = try response(of: entry, to: request, .cache, age: age) else { return nil }
        used = entry
        return response
    }

    // MARK: After the exchange

    /// Returns the response of the load; `nil` if it must be sent again, without conditions.
    @inline(never) func receive(_ response: APIResponse) throws(APIError) -> APIResponse? {
        pending = nil
        guard let request else { return response }
        let date = proxy.clock.date
        invalidate(after: request, response)
        if [500, 502, 503, 504].contains(response.status), !use.policy.isRule,
            let stale = try staleResponse(isOffline: false)
        {
            didUse(stale)
            return stale
        }
        if response.status == 304, let entry = validated, let folder {
            // After a redirect, it is that of another URL.
            guard response.redirects.isEmpty,
                let updated = entry.stored.updated(by: response.headers, requestDate: requestDate, responseDate: date),
                let stored = try self.response(
                    of: CacheEntry(stored: updated, body: entry.body, name: entry.name, key: entry.key),
                    to: request,
                    .validated,
                    age: updated.age(at: date) ?? .zero
                )
            else {
                isBypassed = true
                return nil
            }
            if !folder.isInvalidated(entry.key, after: invalidationCount) {
                use.cache.update(entry, to: updated, in: folder)
                // By another load, while this one wrote.
                if folder.isInvalidated(entry.key, after: invalidationCount) { folder.remove(entry) }
            }
            used = entry
            didUse(stored)
            return stored
        }
        if request.method == .head, use.policy != .none, !use.policy.isRule { update(request, response, date) }
        // Nothing of the address before a redirect says that it may be stored.
        if response.redirects.isEmpty || use.policy.isRule { pending = response }
        return response
    }

    /// RFC 9111 section 4.3.5.
    private func update(_ request: HTTPRequest, _ response: APIResponse, _ date: Date) {
        guard response.status == 200, let folder,
            !folder.isInvalidated(CacheKey(request.url), after: invalidationCount)
        else { return }
        let keyRequest = keyRequest ?? request
        for entry in folder.entries(CacheKey(request.url), where: { $0.selection.matches(keyRequest, language: nil) }) {
            let updated = entry.stored.updated(by: response.headers, requestDate: requestDate, responseDate: date)
            if let updated, entry.stored.isSameRepresentation(as: response.headers) {
                use.cache.update(entry, to: updated, in: folder)
            } else {
                folder.remove(entry)
            }
        }
    }

    /// RFC 9111 section 4.4: what a request may have changed is not used any more.
    ///
    /// Each redirect is a response without an error, whatever the last one is.
    private func invalidate(after request: HTTPRequest, _ response: APIResponse) {
        let method = request.method
        guard method != .get, ![.head, .options, HTTPMethod(rawValue: "TRACE")].contains(method), let folder else {
            return
        }
        let isOutdated = key.map { folder.isInvalidated($0, after: invalidationCount) } ?? false
        var urls = response.redirects
        if (200..<400).contains(response.status) {
            urls += [request.url, response.url]
            for name in ["Location", "Content-Location"] {
                let reference = response.headers[name].flatMap { URLReference($0.utf8) }
                if let url = reference?.resolved(against: response.url) { urls.append(url) }
            }
        }
        for url in urls where url.hasSameOrigin(as: request.url) {
            for part in [false, true] { folder.invalidate(CacheKey(url, part: part)) }
        }
        // Its own response is newer than these.
        if !isOutdated { invalidationCount = folder.invalidationCount }
    }

    /// Returns a stored response for an exchange without a response (RFC 5861 section 4).
    @inline(never) func response(after error: APIError) throws(APIError) -> APIResponse? {
        guard !use.policy.isRule, error.isOfUnreachableServer else { return nil }
        return try staleResponse()
    }

    /// For a service whose responses are stored as its adapters have made them.
    func didAdapt(_ response: APIResponse) {
        if use.storesAdapted, pending != nil { pending = response }
    }

    /// Removes what was used or stored, for a response that the app refuses.
    var forget: (@Sendable () -> Void)? {
        guard let folder, let key else { return nil }
        return { [isRule = use.policy.isRule] in
            folder.remove(key)
            if !isRule { folder.remove(CacheKey(key.url, part: true)) }
        }
    }

    func end<Value>(with loaded: LoadedValue<Value>) -> LoadedValue<Value> {
        let isStored = end(with: nil) || used != nil
        guard isStored, use.policy != .none else { return loaded }
        return LoadedValue(value: loaded.value, response: loaded.response.forgotten(by: forget))
    }

    /// Stores what was received when the load has succeeded, or failed for a reason that a stored response may repeat; returns
    /// whether there was something to store.
    @inline(never) @discardableResult func end(with error: APIError?) -> Bool {
        guard let response = exchange(&pending, with: nil), let folder, let request, let key else { return false }
        if let error, use.policy.isRule || ![.http, .server].contains(error.type) { return false }
        // What was requested before a change is older than what may have been stored since.
        guard use.policy.isRule || !folder.isInvalidated(key, after: invalidationCount) else { return false }
        guard var stored = storable(response, to: request) else {
            if hasFormer, response.replacesFormer, use.policy.isRule || request.method == .get {
                removeFormer(of: request, key, in: folder)
            }
            return false
        }
        stored.isAdapted = use.storesAdapted
        if let file = response.file, let size = (try? file.resourceValues(forKeys: [.fileSizeKey]))?.fileSize {
            stored.bodyLength = Int64(size)
        }
        let content = response.file.map { CacheContent.file($0) } ?? .data(response.body)
        let partKey = response.status == 206 && !use.policy.isRule ? CacheKey(request.url, part: true) : key
        use.cache.store(stored, content, partKey, in: folder)
        guard !use.policy.isRule else { return true }
        // By another load, while this one wrote.
        if folder.isInvalidated(key, after: invalidationCount) { folder.remove(partKey) }
        if hasFormer, request.headers["Range"] != nil, response.status != 206, response.replacesFormer {
            folder.remove(CacheKey(request.url, part: true))
        }
        return true
    }

    /// Removes what was found for the request, but not what another load has stored since.
    private func removeFormer(of request: HTTPRequest, _ key: CacheKey, in folder: CacheFolder) {
        guard let keyRequest else { return }
        let isPart = !use.policy.isRule && request.headers["Range"] != nil
        for key in isPart ? [key, CacheKey(request.url, part: true)] : [key] {
            let former = folder.entries(key) { $0.matches(keyRequest) && $0.responseDate <= requestDate }
            for entry in former { folder.remove(entry) }
        }
    }

    /// `nil` for what must not be stored.
    private func storable(_ response: APIResponse, to request: HTTPRequest) -> StoredResponse? {
        // Most of what is not stored says so.
        guard use.policy.isRule ? response.status != 304 : CacheControl(response.headers).mayBeStored,
            let keyRequest,
            let stored = StoredResponse(
                response,
                to: keyRequest,
                requestDate: requestDate,
                responseDate: proxy.clock.date
            ),
            use.policy.isRule || stored.isStorable(for: request, usesHeuristics: use.cache.usesHeuristics)
        else { return nil }
        return stored
    }
}

extension HTTPRequest {
    /// Its own conditions are compared with the response.
    fileprivate func validating(_ conditions: HTTPHeaders) -> HTTPRequest {
        var request = self
        request.headers.remove("If-None-Match")
        request.headers.remove("If-Modified-Since")
        for line in conditions { request.headers.append(line) }
        return request
    }
}

extension APIResponse {
    /// Whether what is stored must not be used after it; a part and a refusal for the time being do not say so.
    fileprivate var replacesFormer: Bool { isSuccess && status != 206 || [404, 410].contains(status) }
}

extension APIError {
    /// There is no response, and another try may have one.
    var isOfUnreachableServer: Bool { response == nil && [.noNetwork, .timeout, .transport].contains(type) }
}
