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
    @inline(never) func request() throws(TransportError) -> HTTPRequest {
        try current.validate()
        try checkCancellation()
        var request = current
        if request.headers["Cookie"] == nil, let cookie = session.field(for: request.url, at: context.clock.date) {
            request.headers.append(cookie)
        }
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
    private func next(after response: HTTPResponse, _ elapsed: Duration) throws(TransportError) -> HTTPRequest? {
        do throws(TransportError) {
            guard let next = try current.redirected(by: response) else { return nil }
            let limit = first.redirectPolicy.limit
            guard redirects.count < limit else { throw TransportError(.badResponse, "more than \(limit) redirects") }
            return try next.within(first.deadline, after: elapsed)
        } catch {
            var failure = error
            failure.timings = response.timings
            throw failure
        }
    }

    /// Returns an error of the current request as that of the exchange.
    @inline(never) func failure(_ error: TransportError, messages: ErrorMessages?) -> APIError {
        let failure = APIError(explained(redirects.isEmpty ? error : error.afterRedirect), messages: messages)
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
