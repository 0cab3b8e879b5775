import Foundation

/// The requests of one exchange: the first one, and one for each redirect that is followed, with their cookies.
///
/// Its functions are not inlined, because what is inlined into an asynchronous function increases the memory of each exchange
/// that is in progress.
struct RedirectChain {
    private let first: HTTPRequest
    private let session: CookieSession
    private let context: LoadContext
    private let trace: ExchangeTrace?
    /// The host in whose lane the exchange has queued; `nil` for a login request.
    private let host: String?
    private let start: Duration
    private var current: HTTPRequest
    private var redirects: [URL] = []
    /// The `Cookie` header of the current request, as it was sent.
    private var sentCookie: String?
    /// The requests that were redirected.
    private var visits: Set<Visit> = []

    init(_ request: HTTPRequest, cookies: CookieJar, host: String?, context: LoadContext, trace: ExchangeTrace?) {
        first = request
        current = request
        session = CookieSession(cookies, clock: context.clock)
        self.context = context
        self.trace = trace
        self.host = host
        start = context.clock.uptime
    }

    /// Returns the current request as it is sent.
    @inline(never) mutating func request() throws(TransportError) -> HTTPRequest {
        try current.validate()
        try checkCancellation()
        var request = current
        if request.headers["Cookie"] == nil, let cookie = session.field(for: request.url, at: context.clock.date) {
            request.headers.append(cookie)
        }
        sentCookie = request.headers["Cookie"]
        guard let trace else { return request }
        request = trace.requestMade(request)
        // A monitor may have cancelled the load.
        try checkCancellation()
        return request
    }

    private func checkCancellation() throws(TransportError) {
        guard !Task.isCancelled else { throw TransportError(.cancelled, "cancelled before it was sent") }
    }

    /// Stores the cookies of an answer, and returns it unless it is a redirect, whose request is the current one then.
    @inline(never) mutating func receive(_ response: HTTPResponse) throws(TransportError) -> APIResponse? {
        session.store(from: response.headers, url: current.url, at: context.clock.date)
        if let host, redirects.isEmpty { context.queue.record(isMultiplexed: response.isMultiplexed, of: host) }
        let elapsed = context.clock.uptime - start
        guard let next = try next(after: response, elapsed) else {
            let answer = APIResponse(response, url: current.url, redirects: redirects, duration: elapsed)
            trace?.ended(with: .success(answer))
            return answer
        }
        redirects.append(current.url)
        current = next
        trace?.redirected(response)
        return nil
    }

    /// Returns the request that an answer redirects to; `nil` if it is the last answer.
    ///
    /// - Throws: Why the redirect is not followed, with the timings of the answer.
    private mutating func next(
        after response: HTTPResponse,
        _ elapsed: Duration
    ) throws(TransportError) -> HTTPRequest? {
        do throws(TransportError) {
            guard let next = try current.redirected(by: response) else { return nil }
            let limit = first.redirectPolicy.limit
            guard redirects.count < limit else { throw TransportError(.badResponse, "more than \(limit) redirects") }
            try recordVisit(before: next)
            return try next.within(first.deadline, after: elapsed)
        } catch {
            var failure = error
            failure.timings = response.timings
            throw failure
        }
    }

    /// Records the current request, and refuses the next one if it was sent before.
    private mutating func recordVisit(before next: HTTPRequest) throws(TransportError) {
        visits.insert(Visit(current, cookie: sentCookie))
        let cookie = next.headers["Cookie"] ?? session.field(for: next.url, at: context.clock.date)?.value
        guard visits.contains(Visit(next, cookie: cookie)) else { return }
        throw TransportError(.badResponse, "a redirect leads back to a URL that was requested before")
    }

    /// Returns an error of the current request as that of the exchange.
    @inline(never) func failure(_ error: TransportError) -> APIError {
        let failure = APIError(explained(redirects.isEmpty ? error : error.afterRedirect))
        trace?.ended(with: .failure(failure))
        return failure
    }

    /// Returns `noNetwork` for a name without an address while the network is known to be unreachable, which explains it;
    /// otherwise the name may be wrong.
    private func explained(_ error: TransportError) -> TransportError {
        guard error.kind == .hostNotFound, context.reachability.status == .unreachable else { return error }
        return error.withKind(.noNetwork, reason: error.reason)
    }
}

/// A request of a chain, whose body is that of the first one, or empty.
private struct Visit: Hashable {
    private let origin: Origin?
    private let path: String
    private let query: String?
    private let method: HTTPMethod
    private let hasBody: Bool
    /// The cookies of a request that only reads: a login page sets one, and redirects to the page that has led to it.
    ///
    /// A request that may change something is not sent twice for a cookie.
    private let cookie: String?

    init(_ request: HTTPRequest, cookie: String?) {
        let path = request.url.path(percentEncoded: true)
        (origin, self.path) = (Origin(request.url), path.isEmpty ? "/" : path)
        (query, method, hasBody) = (request.url.query(percentEncoded: true), request.method, !request.body.isEmpty)
        self.cookie = [.get, .head, .options].contains(method) ? cookie : nil
    }
}

extension TransportError {
    /// This error when a server has had the request before, so that it is no longer true that nothing was sent.
    fileprivate var afterRedirect: TransportError {
        let reason = "after a redirect: \(reason)"
        return switch kind {
        case .noNetwork, .hostNotFound, .cannotConnect: withKind(.connectionLost, reason: reason)
        // Of a file that has changed since it was sent first, or of what the server has named.
        case .invalidRequest: withKind(underlying is SystemError ? .storage : .badResponse, reason: reason)
        default: self
        }
    }
}

extension HTTPRequest {
    /// This redirected request, with what is left of the deadline of the exchange.
    fileprivate func within(_ deadline: Duration?, after elapsed: Duration) throws(TransportError) -> HTTPRequest {
        guard let deadline else { return self }
        guard deadline > elapsed else { throw TransportError(.timeout, "the deadline passed between two redirects") }
        var request = self
        request.deadline = deadline - elapsed
        return request
    }
}
