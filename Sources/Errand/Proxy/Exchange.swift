import Foundation

/// One request on the wire, with its redirects and their cookies.
///
/// A class whose steps are not inlined, because an asynchronous function reserves memory for each copy of a structure and for
/// what is inlined.
final class Exchange {
    private let first: HTTPRequest
    /// `nil` when several loads share it.
    private let id: RequestID?
    private let session: CookieSession?
    private let head: ReceivedHead
    private let proxy: APIProxy
    /// `nil` also when the exchange has ended for the monitors.
    private var trace: ExchangeTrace?
    private let start: Duration
    /// `nil` if the body is no partial file.
    private let resumption: Resumption?
    private let bodyCheck: BodyCheck?
    private var checkedBody: CheckedBody?
    /// Finds and confirms responses to redirected requests whose body is in memory.
    var cache: CacheStage?
    private var current: HTTPRequest
    private var redirects: [URL] = []
    /// The `Cookie` header of the current request, as it was sent.
    private var sentCookie: String?
    /// The requests that were redirected.
    private var visits: Set<Visit> = []
    /// `nil` before the first response.
    private(set) var isMultiplexed: Bool?
    /// Whether the transport has passed on the body of the last response.
    private var isStreamed = false

    init(
        _ request: HTTPRequest,
        id: RequestID?,
        session: CookieSession?,
        proxy: APIProxy,
        trace: ExchangeTrace?,
        resuming resumption: Resumption? = nil,
        bodyCheck: BodyCheck? = nil
    ) {
        (self.resumption, self.bodyCheck) = (resumption, bodyCheck)
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
            case .memory:
                checkBody()
                return try await response(progress)
            case .stream:
                let response = try await response(progress)
                return isStreamed ? response : try await passOn(response)
            case .file, .folder:
                if let resumption { return try await resumedResponse(resumption, accepting: statuses, progress) }
                let file = try stage()
                let response = try await response(ofFile(progress, accepting: statuses))
                file.place.setName(from: response.headers, url: response.url)
                return try store(response, in: file, isStored: response.file == file.url, accepting: statuses)
            }
        } catch {
            throw failure(error)
        }
    }

    private func response(_ progress: TransferProgress.Handler?) async throws(TransportError) -> APIResponse {
        while true {
            let response = try await proxy.transport.send(nextRequest(), progress: progress)
            if let last = try receive(response) { return last }
        }
    }

    /// Ends the exchange when the beginning of the body is refused.
    @inline(never) private func checkBody() {
        guard let bodyCheck, first.method != .head else { return }
        let body = CheckedBody(limit: first.limits.bodyBytes, bodyCheck)
        (checkedBody, current.destination) = (body, .stream(HTTPBodySink(body)))
    }

    /// Passes a body on that the transport has not.
    @inline(never) private func passOn(_ response: APIResponse) async throws(TransportError) -> APIResponse {
        guard let receiver = try current.receiver(status: response.status, headers: response.headers) else {
            return response
        }
        isStreamed = true
        try await receiver.write(response.body)
        try receiver.finish()
        return response.streamed
    }

    @inline(never) func nextRequest() throws(TransportError) -> HTTPRequest {
        try current.validate()
        guard !Task.isCancelled else { throw .cancelledUnsent }
        var request = current
        if request.headers["Cookie"] == nil, let cookie = session?.field(for: request.url, at: proxy.clock.date) {
            request.headers.append(cookie)
        }
        if resumption != nil, case .stream(let sink) = current.destination, let file = sink.receiver as? PartialFile,
            !file.willSend(to: redirects.isEmpty ? nil : request.url)
        {
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
        let head = proxy.reportsHeads ? head : nil
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
        isStreamed = response.isStreamed
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
            trace = nil
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
            try current.checkPart(response)
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
        visits.insert(Visit(current, cookie: sentCookie))
        let cookie = next.headers["Cookie"] ?? session?.field(for: next.url, at: proxy.clock.date)?.value
        guard visits.contains(Visit(next, cookie: cookie)) else { return }
        throw TransportError(.badResponse, "a redirect leads back to a URL that was requested before")
    }

    @inline(never) private func failure(_ error: TransportError) -> APIError {
        var error = redirects.isEmpty ? error : error.afterRedirect
        // An unreachable network explains why a name has no address; otherwise the name may be wrong.
        if error.kind == .hostNotFound, proxy.reachability.status == .unreachable {
            error = error.withKind(.noNetwork, reason: error.reason)
        }
        // What has refused the body says why.
        let failure = (error.underlying as? CheckedBody.Refusal)?.error ?? APIError(error)
        trace?.ended(with: .failure(failure))
        return failure
    }

    /// What has arrived of the responses of an exchange that has failed; the last one has no status if it has not begun.
    var partialResponse: APIResponse {
        let (status, headers) = head.value ?? (0, [:])
        return APIResponse(
            HTTPResponse(status: status, headers: headers),
            to: id,
            url: current.url,
            redirects: redirects
        )
    }

    // MARK: Files

    /// What is stored in memory does not count.
    private func ofFile(
        _ progress: TransferProgress.Handler?,
        accepting statuses: Set<Int>
    ) -> TransferProgress.Handler? {
        guard let progress else { return nil }
        return { [head] report in
            if case .download = report.direction, let status = head.value?.status, !(200..<300).contains(status),
                !statuses.contains(status)
            {
                return
            }
            progress(report)
        }
    }

    /// Sends what the server has to send again with another attempt of the load, without the file.
    @inline(never) private func resumedResponse(
        _ resumption: Resumption,
        accepting statuses: Set<Int>,
        _ progress: TransferProgress.Handler?
    ) async throws(TransportError) -> APIResponse {
        let file = try PartialFile(for: first.destination, of: resumption.resource, session)
        guard let id, proxy.loads.setFile(file, of: id) else { throw .cancelledUnsent }
        for line in try await file.open() { current.headers[line.name] = line.value }
        current.destination = .stream(HTTPBodySink(file))
        let response: APIResponse
        do throws(TransportError) {
            let received = try await self.response(file.progress(progress))
            response = isStreamed ? received : try await passOn(received)
        } catch {
            throw file.startAgain(after: nil) ? error.askingForRetry : error
        }
        file.setName(from: response)
        guard !file.startAgain(after: response.status) else {
            throw TransportError(.badResponse, "the server has no rest of the file").askingForRetry
        }
        var statuses = statuses
        if file.holdsBack {
            // It is read in memory, and the part is kept.
            guard resumption.isComplete(response) else { return response }
            statuses.insert(response.status)
            let count = Int64(response.body.count)
            progress?(TransferProgress(.download, completedBytes: count, totalBytes: count))
        }
        return try store(response, in: file, isStored: isStreamed, accepting: statuses)
    }

    /// Returns a stored response as that of the request; `body` goes to its file, if it has one; `nil` if the body is damaged.
    @inline(never) func stored(
        _ response: HTTPResponse,
        _ body: CacheBodyFile?,
        url: URL,
        accepting statuses: Set<Int>
    ) throws(APIError) -> APIResponse? {
        let stored = APIResponse(response, to: id, url: url)
        do throws(TransportError) {
            let file = try stage()
            file.place.setName(from: response.headers, url: url)
            let isStored = stored.isSuccess && ![204, 205].contains(stored.status)
            if let body, isStored {
                guard try file.write(body) else {
                    if let id { proxy.loads.discardFile(of: id) }
                    return nil
                }
            } else if isStored {
                try file.write(response.body)
            }
            return try store(stored, in: file, isStored: isStored, accepting: statuses)
        } catch {
            throw failure(error)
        }
    }

    @inline(never) private func stage() throws(TransportError) -> StagedFile {
        guard let id else { throw TransportError(.invalidRequest, "loads that write a file share no exchange") }
        let file = try StagedFile(for: first.destination)
        // In the table before it is on the disk, so that a cancel in between prevents it.
        guard proxy.loads.setFile(file, of: id), try file.make() else { throw .cancelledUnsent }
        current.destination = .file(file.url)
        return file
    }

    /// Writes the file if the transport has not.
    @inline(never) private func store(
        _ response: APIResponse,
        in file: any LoadFile,
        isStored: Bool,
        accepting statuses: Set<Int>
    ) throws(TransportError) -> APIResponse {
        let isAccepted = statuses.contains(response.status)
        // A response that never has content is to empty no older file (RFC 9110 sections 9.3.2, 15.3.5, 15.3.6 and 15.4.5).
        let hasContent = first.method != .head && ![204, 205, 304].contains(response.status)
        if hasContent, isStored || isAccepted {
            if !isStored { try file.write(response.body) }
            return response.withContent(file: file.location)
        }
        if let id { proxy.loads.discardFile(of: id) }
        if isStored { return response.withContent() }
        guard isAccepted, response.status == 304 else { return response }
        // It describes the existing file (RFC 9110 section 15.4.5).
        let hasFile = FileManager.default.fileExists(atPath: file.target.path)
        return hasFile ? response.withContent(file: FileLocation(file.target)) : response
    }
}

/// What continues a partial file.
struct Resumption {
    /// What the file is one of.
    let resource: URL
    /// Whether the body of a response is the file, and not JSON with a failure.
    let isComplete: (APIResponse) -> Bool
}

/// The head of the response to the last request of an exchange.
///
/// Its cookies are stored when it arrives: the end of the body may be hours later, when they have changed, or a lost connection.
private final class ReceivedHead: Sendable {
    private let session: CookieSession?
    private let clock: any APIClock
    private let head = Lock<(status: Int, headers: HTTPHeaders)?>(nil)

    init(_ session: CookieSession?, _ clock: any APIClock) { (self.session, self.clock) = (session, clock) }

    /// `nil` before it has arrived.
    var value: (status: Int, headers: HTTPHeaders)? { head.withLock(\.self) }

    func forget() { head.withLock { $0 = nil } }

    func receive(_ status: Int, _ headers: HTTPHeaders, from url: URL) {
        head.withLock { $0 = (status, headers) }
        session?.store(from: headers, url: url, status: status, at: clock.date)
    }
}

/// A request of a chain, whose body is that of the first one, or empty.
private struct Visit: Hashable {
    private let origin: Origin?
    private let path: String
    private let query: String?
    private let method: HTTPMethod
    private let hasBody: Bool
    /// Only of a request that reads: a login page sets one and redirects back; what may change something is not sent twice for it.
    private let cookie: String?

    init(_ request: HTTPRequest, cookie: String?) {
        let path = request.url.path(percentEncoded: true)
        (origin, self.path) = (Origin(request.url), path.isEmpty ? "/" : path)
        (query, method, hasBody) = (request.url.query(percentEncoded: true), request.method, !request.body.isEmpty)
        self.cookie = [.get, .head, .options].contains(method) ? cookie : nil
    }
}

extension HTTPRequest {
    /// Refuses a part of the body that was not requested, for example from a cache that has confused two clients.
    ///
    /// Ranges of other units than bytes are the server's own.
    fileprivate func checkPart(_ response: HTTPResponse) throws(TransportError) {
        guard response.status == 206, headers["Range"] == nil, response.headers.hasRangeOfWhole == false else { return }
        throw TransportError(.badResponse, "the response is a part of the body, which was not requested")
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
