import Foundation

/// When a load is answered with a stored response instead of the network, if its proxy has an ``APICache``.
///
/// ``http``, the default, does what the server permits (RFC 9111), ``reload`` and ``onlyIfCached`` a little more or less. They are
/// for `GET` and `HEAD`.
///
/// The other rules are the app's own: they ignore what the server says about caching. They are for any method, and a stored
/// response is given only to a load of the same session, method, URL and body, whose headers do not differ in what the response
/// varies by, apart from an `Authorization` of the service, if that has a ``APIService/reloginHandler``: a renewed token is that of
/// the same session. The body must be in memory, have no parts of a form and at most 1 MiB, otherwise the load fails with
/// `invalidRequest`. Common parameters are a part of what must be the same; what adapters add, such as a time stamp or a signature,
/// is not. Only successes are stored: no business failure and no expired login; what a validator refuses is removed.
///
/// The rules share what they store, except that of another ``version(_:)``, and share nothing with ``http``. A request that
/// changes something on the server removes what is stored of its URL for ``http``, and nothing of a rule: load it with
/// ``fallback``, which replaces what is stored, except under a ``version(_:)``: each number has a response of its own, which
/// only the reload of a list replaces.
///
/// See <doc:Caching>.
public enum CachePolicy: Sendable, Hashable {
    /// As HTTP says: a response is used while it is fresh, and validated or replaced afterwards; the default.
    ///
    /// If there is no response at all, a stale one is used as long after its expiry as it was fresh, unless it has
    /// `must-revalidate` or `no-cache`; and as long as `stale-if-error` permits, also for 500, 502, 503 and 504.
    case http
    /// Nothing is read or stored.
    case bypass
    /// As ``http``, but the server is asked in any case whether a stored response is still valid, and no stale one is used.
    case reload
    /// As ``http``, but nothing is sent: without a response to use, the load fails with `http` and status 504.
    case onlyIfCached
    /// A stored response of any age; without one, the network.
    case elseLoad
    /// A stored response that was received in this time before now; otherwise the network; with zero, always the network.
    case time(Duration)
    /// A stored response of any age that was stored under the same number; otherwise the network.
    ///
    /// Increase the number when the responses of an older version of the app are of no use.
    case version(Int)
    /// The network; a stored response of any age if the request fails with `noNetwork`, `timeout` or `transport` after all
    /// retries, or if the deadline passes.
    case fallback
    /// Shows a stored response of any age at once, and then loads from the network; the load ends once, with that.
    ///
    /// The stored response is in ``APIManager/cachedResponse``, and the delegate receives
    /// ``APIManagerCallbackDelegate/managerCallAPI(_:didLoadCached:)`` before the ending. The items of a list do not change.
    case first
}

/// Why a load is sent although its proxy has a cache.
public enum CacheMiss: String, Sendable {
    /// Nothing is stored.
    case absent
    /// What is stored varies by headers that the request has not.
    case varies
    /// What is stored is too old.
    case stale
    /// The request, its policy or the stored response asks to validate it.
    case mustValidate
    /// The stored response could not be read or decoded; it was removed.
    case unreadable
}

/// What to do with a request.
enum CacheDecision {
    /// `isStale` is whether the stored response is to be validated afterwards (RFC 5861 section 3).
    case use(CacheEntry, age: Duration, isStale: Bool = false)
    /// Sends the request, with the conditions of `validated` if there is one; `orOnError` may be used if there is no response or
    /// a server error, and `orOffline` if there is no response.
    case send(CacheMiss, validated: CacheEntry? = nil, orOnError: CacheEntry? = nil, orOffline: CacheEntry? = nil)
    /// Nothing may be sent.
    case fail
}

extension CachePolicy {
    /// Whether its entries are those of the app's own rules.
    package var isRule: Bool { self != .http && self != .bypass && self != .reload && self != .onlyIfCached }

    /// Whether it may end a load before it has a place in the queue.
    package var readsFirst: Bool { self != .bypass && self != .reload && self != .fallback }

    /// For a list that is loaded again.
    var reloading: CachePolicy {
        switch self {
        case .bypass, .onlyIfCached: self
        default: isRule ? .fallback : .reload
        }
    }

    /// A pure function of what is stored, newest first, and the time; no body is read.
    func decision(
        for request: HTTPRequest,
        _ entries: [CacheEntry],
        at date: Date,
        usesHeuristics: Bool = false
    ) -> CacheDecision {
        let entry = entries.first { $0.stored.matches(request) && (isRule || $0.stored.answers(request)) }
        if isRule, let entry { return decision(byRuleFor: entry, at: date) }
        let caching = entry.map { HTTPCaching(self, request, $0, usesHeuristics: usesHeuristics) }
        let decision = caching?.decision(at: date) ?? .send(entries.isEmpty ? .absent : .varies)
        guard case .send = decision, !isRule else { return decision }
        return self == .onlyIfCached || CacheControl(request.headers).contains("only-if-cached") ? .fail : decision
    }

    private func decision(byRuleFor entry: CacheEntry, at date: Date) -> CacheDecision {
        let received = entry.stored.responseDate
        let age = max(.zero, Duration.seconds(date.timeIntervalSince(received)))
        switch self {
        case .time(let limit):
            // A clock that was set back makes it older, not younger.
            guard date >= received, limit > .zero, age <= limit else { return .send(.stale) }
            return .use(entry, age: age)
        case .fallback, .first: return .send(.mustValidate, orOffline: entry)
        default: return .use(entry, age: age)
        }
    }
}

/// RFC 9111 section 4 for one stored response that was selected, as a private cache.
private struct HTTPCaching {
    let policy: CachePolicy
    let entry: CacheEntry
    let asked: CacheControl
    let control: CacheControl
    let usesHeuristics: Bool

    init(_ policy: CachePolicy, _ request: HTTPRequest, _ entry: CacheEntry, usesHeuristics: Bool) {
        (self.policy, self.entry, self.usesHeuristics) = (policy, entry, usesHeuristics)
        asked = CacheControl(request.headers)
        control = CacheControl(entry.stored.headers)
    }

    func decision(at date: Date) -> CacheDecision {
        let validated = entry.stored.conditions == nil || entry.stored.status == 206 ? nil : entry
        // Not known after the clock was set back: then it must be validated.
        guard let age = entry.stored.age(at: date) else { return .send(.stale, validated: validated) }
        if mustAsk { return .send(.mustValidate, validated: validated) }
        if policy != .reload {
            if isFresh(age) || mayBeUsed(age, staleFor: asked.maxStale) { return .use(entry, age: age) }
            let isPatient = policy != .onlyIfCached && asked.seconds("max-age") == nil && !asked.contains("min-fresh")
            if isPatient, mayBeUsed(age, staleFor: control.limit("stale-while-revalidate")) {
                return .use(entry, age: age, isStale: true)
            }
        }
        let errorLimit = control.limit("stale-if-error") ?? asked.limit("stale-if-error")
        let orOnError = mayBeUsed(age, staleFor: errorLimit) ? entry : nil
        // RFC 9111 section 4.2.4 sets no limit: as long as it was fresh.
        let orOffline = mayBeUsed(age, staleFor: lifetime) ? entry : orOnError
        let miss: CacheMiss = policy == .reload ? .mustValidate : .stale
        return .send(miss, validated: validated, orOnError: orOnError, orOffline: orOffline)
    }

    private func mayBeUsed(_ age: Duration, staleFor limit: Duration?) -> Bool {
        guard let limit, !control.contains("must-revalidate") else { return false }
        return age - lifetime <= limit
    }

    private var lifetime: Duration {
        entry.stored.explicitLifetime(control) ?? (usesHeuristics ? entry.stored.heuristicLifetime(control) : .zero)
    }

    private var mustAsk: Bool { asked.contains("no-cache") || control.names(in: "no-cache") == [] }

    private func isFresh(_ age: Duration) -> Bool {
        let rest = lifetime - age
        guard rest > .zero, rest >= .seconds(asked.seconds("min-fresh") ?? 0) else { return false }
        // Not asked for while it is fresh (RFC 8246 section 2).
        if control.contains("immutable") { return true }
        guard let limit = asked.seconds("max-age") else { return true }
        return limit > 0 && age <= .seconds(limit)
    }
}

extension CacheControl {
    fileprivate func limit(_ directive: String) -> Duration? { seconds(directive).map { .seconds($0) } }

    /// RFC 9111 section 5.2.1.2.
    fileprivate var maxStale: Duration? {
        names(in: "max-stale") == [] ? .seconds(3_155_760_000 as Int64) : limit("max-stale")
    }
}

// MARK: Storing

extension StoredResponse {
    /// Whether a private cache may store it, and has a use for it (RFC 9111 section 3).
    func isStorable(for request: HTTPRequest) -> Bool {
        let control = CacheControl(headers)
        // Those are of one request, its conditions or its connection, or of the network (RFC 9110 section 15, RFC 6585).
        guard status >= 200, ![304, 408, 412, 416, 417, 421, 425, 428, 429, 431, 511].contains(status) else {
            return false
        }
        // RFC 9111 section 5.2.2.3.
        guard control.mayBeStored, isUnderstood || !control.contains("must-understand") else { return false }
        guard !CacheControl(request.headers).contains("no-store") else { return false }
        let isExplicit = explicitLifetime(control) != nil
        switch request.method {
        case .get: break
        // RFC 9110 section 9.3.3.
        case .post where isExplicit && status == 200:
            guard let location = headers["Content-Location"].flatMap({ URLReference($0.utf8)?.resolved(against: url) }),
                location == url
            else { return false }
        default: return false
        }
        if status == 206, storedRange == nil { return false }
        return isExplicit || isHeuristicallyCacheable(control) && conditions != nil
    }

    /// The statuses whose meaning for a cache is known (RFC 9110 section 15).
    private var isUnderstood: Bool {
        [200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 404, 405, 410, 414, 501].contains(status)
    }
}
