import Foundation

/// One request on the wire, with its redirects and their cookies.
///
/// A class whose steps are not inlined, because an asynchronous function reserves memory for each copy of a structure and for
/// what is inlined.
final class Exchange {
    let first: HTTPRequest
    /// `nil` when several loads share it.
    let id: RequestID?
    let session: CookieSession?
    let head: ReceivedHead
    let proxy: APIProxy
    private let trace: ExchangeTrace?
    private let start: Duration
    /// `nil` if the body is no partial file.
    var resumption: Resumption?
    /// What it continues, once that is open.
    var part: PartialFile?
    var bodyCheck: BodyCheck?
    private var checkedBody: CheckedBody?
    /// Finds and confirms responses to redirected requests whose body is in memory.
    var cache: CacheStage?
    var current: HTTPRequest
    private var redirects: [URL] = []
    /// The `Cookie` header of the current request, as it was sent.
    private var sentCookie: String?
    /// The requests that were redirected.
    private var visits: Set<[String?]> = []
    /// `nil` before the first response.
    private(set) var isMultiplexed: Bool?

    init(_ request: HTTPRequest, id: RequestID?, session: CookieSession?, proxy: APIProxy, trace: ExchangeTrace?) {
        first = request
        current = request
        self.id = id
        self.session = session
        head = ReceivedHead(session, proxy.clock)
        self.proxy = proxy
        self.trace = trace
        start = proxy.clock.uptime
    }

    /// Sends the request and follows its redirects; also stores the body of a response with one of `statuses`, but not of a 304.
    ///
    /// A body for a file is staged beside its target until the load ends, so that neither a refusal nor a cancelled load
    /// replaces an older file.
    func send(
        storing statuses: Set<Int> = [],
        progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        do throws(TransportError) {
            switch first.destination {
            case .memory, .stream:
                checkBody()
                return try await response(progress)
            case .file, .folder:
                if let resumption { return try await resumedResponse(resumption, accepting: statuses, progress) }
                let file = try stage()
                let response = try await response(ofFile(progress, accepting: statuses))
                return try store(response, in: file, isStored: response.file == file.url, accepting: statuses)
            }
        } catch {
            throw failure(error)
        }
    }

    func response(_ progress: TransferProgress.Handler?) async throws(TransportError) -> APIResponse {
        while true {
            let response = try await proxy.transport.send(nextRequest(), progress: progress)
            guard let last = try receive(response) else { continue }
            return last.isStreamed || first.destination == .memory ? last : try await passOn(last, progress)
        }
    }

    /// Ends the exchange when the beginning of the body is refused.
    @inline(never) private func checkBody() {
        guard let bodyCheck, first.method != .head else { return }
        let body = CheckedBody(limit: first.limits.bodyBytes, bodyCheck)
        (checkedBody, current.destination) = (body, .stream(HTTPBodySink(body)))
    }

    /// Passes a body on that the transport has not.
    @inline(never) private func passOn(
        _ response: APIResponse,
        _ progress: TransferProgress.Handler?
    ) async throws(TransportError) -> APIResponse {
        guard let receiver = try current.receiver(status: response.status, headers: response.headers) else {
            return response
        }
        try await receiver.write(response.body)
        let count = Int64(response.body.count)
        // Where the body begins in a file was not known when the transport reported it.
        if part != nil, count > 0 { progress?(TransferProgress(.download, completedBytes: count, totalBytes: count)) }
        try receiver.finish()
        return response.streamed
    }

    @inline(never) func nextRequest() throws(TransportError) -> HTTPRequest {
        try current.validate()
        guard !Task.isCancelled else { throw .cancelledUnsent }
        var request = current
        if let session, request.headers["Cookie"] == nil {
            let date = proxy.clock.date
            head.willSend(at: date)
            if let cookie = session.field(for: request.url, at: date) { request.headers.append(cookie) }
        }
        if part?.willSend(to: redirects.isEmpty ? nil : request.url) == false {
            (request.headers["Range"], request.headers["If-Range"]) = (nil, nil)
        }
        // A range of a compressed body cannot be decoded (RFC 9110 section 14.2).
        if request.headers["Range"] != nil, request.headers["Accept-Encoding"] == nil {
            request.headers["Accept-Encoding"] = "identity"
        }
        sentCookie = request.headers["Cookie"]
        if let trace {
            request = trace.requestMade(request)
            // A monitor may have cancelled the load.
            guard !Task.isCancelled else { throw .cancelledUnsent }
        }
        head.forget()
        // A transport that wraps another one may change what is stored of a response, but not that there was one.
        let head = proxy.transport is any HeadReporting ? head : nil
        // Not in the event, which may be kept.
        request.didReceiveHead = { [url = request.url, invalidate = cache?.invalidation] status, headers in
            invalidate?(APIResponse(HTTPResponse(status: status, headers: headers), to: nil, url: url))
            head?.receive(status, headers, from: url)
        }
        return request
    }

    /// Returns `nil` for a redirect, whose request is the current one then, if no response to that is stored.
    @inline(never) func receive(_ response: HTTPResponse) throws(TransportError) -> APIResponse? {
        let response = checkedBody?.completing(response) ?? response
        // That of a transport which does not report it, or which changes what it wraps.
        if head.value == nil { head.receive(response.status, response.headers, from: current.url) }
        if redirects.isEmpty { isMultiplexed = response.isMultiplexed }
        let elapsed = proxy.clock.uptime - start
        guard let next = try next(after: response, elapsed) else {
            let last = APIResponse(
                response,
                to: id,
                url: current.url,
                redirects: redirects,
                duration: elapsed,
                receivedAt: start + elapsed
            )
            trace?.ended(with: .success(last))
            return last
        }
        redirects.append(current.url)
        current = next
        trace?.redirected(response)
        return storedResponse()
    }

    /// Of the address that a redirect has led to.
    private func storedResponse() -> APIResponse? {
        guard let cache, first.destination == .memory else { return nil }
        var request = current
        request.destination = .memory
        // Errors are of rules and of files alone.
        let stored = try? cache.follow(&request)
        current.headers = request.headers
        return stored
    }

    /// Returns `nil` after the last response; an error has the timings of the response.
    private func next(after response: HTTPResponse, _ elapsed: Duration) throws(TransportError) -> HTTPRequest? {
        do throws(TransportError) {
            // From a cache that has confused two clients, for example; ranges of other units than bytes are the server's own.
            if response.status == 206, current.headers["Range"] == nil, response.headers.hasRangeOfWhole == false {
                throw TransportError(.badResponse, "the response is a part of the body, which was not requested")
            }
            guard var next = try current.redirected(by: response) else { return nil }
            let limit = first.redirectPolicy.limit ?? 0
            guard redirects.count < limit else { throw TransportError(.badResponse, "more than \(limit) redirects") }
            try recordVisit(before: next)
            guard let deadline = first.deadline else { return next }
            guard deadline > elapsed else {
                throw TransportError(.timeout, "the deadline passed between two redirects")
            }
            next.deadline = deadline - elapsed
            return next
        } catch {
            var failure = error
            failure.timings = response.timings
            throw failure
        }
    }

    /// Refuses the next request if it was sent before.
    private func recordVisit(before next: HTTPRequest) throws(TransportError) {
        visits.insert(Self.visit(current, cookie: sentCookie))
        let cookie = next.headers["Cookie"] ?? session?.field(for: next.url, at: proxy.clock.date)?.value
        guard visits.contains(Self.visit(next, cookie: cookie)) else { return }
        throw TransportError(.badResponse, "a redirect leads back to a URL that was requested before")
    }

    /// What tells a request from others of the chain, whose body is that of the first one, or empty.
    private static func visit(_ request: HTTPRequest, cookie: String?) -> [String?] {
        let (url, method) = (request.url, request.method)
        let path = url.path(percentEncoded: true)
        let target = [Origin(url)?.description, path.isEmpty ? "/" : path, url.query(percentEncoded: true)]
        // A login page sets one and redirects back; what may change something is not sent twice for it.
        let cookie = method.isSafe ? cookie : nil
        return target + [method.rawValue, request.body.isEmpty ? nil : "body", cookie]
    }

    @inline(never) func failure(_ error: TransportError) -> APIError {
        var error = redirects.isEmpty ? error : error.afterRedirect
        // An unreachable network explains why a name has no address; otherwise the name may be wrong.
        if error.kind == .hostNotFound, proxy.reachability.status == .unreachable {
            error = error.withKind(.noNetwork, reason: error.reason)
        }
        // What has refused the body says why.
        let failure = (error.underlying as? CheckedBody.Refusal)?.error ?? APIError(error)
        trace?.ended(with: .failure(failure))
        // The server may have done what it was asked to do.
        invalidate()
        return failure
    }

    /// Removes what the request may have changed, by what has arrived of the responses; the last one may not have begun.
    @inline(never) func invalidate() {
        let (status, headers) = head.value ?? (0, [:])
        let response = HTTPResponse(status: status, headers: headers)
        cache?.invalidation?(APIResponse(response, to: id, url: current.url, redirects: redirects))
    }
}

/// The head of the response to the last request of an exchange.
///
/// Its cookies are stored when it arrives: the end of the body may be hours later, when they have changed, or a lost connection.
final class ReceivedHead: Sendable {
    private struct State {
        /// When the cookies of the request were read.
        var sentAt: Date?
        var head: (status: Int, headers: HTTPHeaders)?
    }

    private let session: CookieSession?
    private let clock: any APIClock
    private let state = Lock(State())

    init(_ session: CookieSession?, _ clock: any APIClock) { (self.session, self.clock) = (session, clock) }

    /// `nil` before it has arrived.
    var value: (status: Int, headers: HTTPHeaders)? { state.withLock(\.head) }

    func forget() { state.withLock { $0.head = nil } }
    func willSend(at date: Date) { state.withLock { $0.sentAt = date } }

    func receive(_ status: Int, _ headers: HTTPHeaders, from url: URL) {
        let sentAt = state.withLock { state in
            state.head = (status, headers)
            return state.sentAt
        }
        session?.store(from: headers, url: url, status: status, sentAt: sentAt, at: clock.date)
    }
}

extension HTTPHeaders {
    /// Whether `Content-Range` is that of a whole body, if it is in bytes; of a length that is not known, as far as the beginning
    /// shows.
    var hasRangeOfWhole: Bool? {
        guard let text = self["Content-Range"]?.lowercased(), text.hasPrefix("bytes ") else { return nil }
        return StoredRange(contentRange: text)?.isWhole ?? text.hasPrefix("bytes 0-")
    }
}

extension TransportError {
    static var cancelledUnsent: TransportError { TransportError(.cancelled, "cancelled before it was sent") }

    /// A server has had the request before, so that it is no longer true that nothing was sent.
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
