import Foundation

/// One request on the wire, with its redirects and their cookies.
struct Exchange: Sendable {
    /// The load that it is for; `nil` when several loads share it.
    let id: RequestID?
    /// The texts of its errors.
    let messages: ErrorMessages?
    let cookies: CookieJar
    /// The host in whose lane it has queued; `nil` for a login request.
    let host: String?
    let context: LoadContext

    /// Sends a request, follows its redirects with the cookies for each of them, and returns the answer.
    ///
    /// An answer for a file is staged beside its target until the load ends, so that neither a refusal nor a cancelled
    /// load replaces an older file.
    /// Besides the body of a 2xx, that of one of `statuses` is stored there, except of a 304, which has none.
    func send(
        _ request: HTTPRequest,
        storing statuses: Set<Int> = [],
        progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        guard case .file(let target) = request.destination else { return try await follow(request, progress) }
        let file = try stage(target)
        var request = request
        request.destination = .file(file.url)
        let response = try await follow(request, progress)
        guard response.file != file.url else { return response }
        // The answer is in memory: its status is not 2xx.
        if statuses.contains(response.status), response.status != 304 { return try store(response, in: file) }
        if let id { context.loads.discardFile(of: id) }
        return statuses.contains(response.status) ? response.unmodified(target) : response
    }

    private func store(_ response: APIResponse, in file: StagedFile) throws(APIError) -> APIResponse {
        do throws(TransportError) {
            try file.write(response.body)
            return response.having(file: file.url)
        } catch {
            throw APIError(error, messages: messages)
        }
    }

    private func follow(_ request: HTTPRequest, _ progress: TransferProgress.Handler?) async throws(APIError)
        -> APIResponse
    {
        let start = context.clock.uptime
        var (hop, redirects) = (request, [URL]())
        let session = CookieSession(cookies)
        do throws(TransportError) {
            while true {
                let response = try await context.transport.send(prepared(hop, session), progress: progress)
                record(response, of: hop, session, isRedirected: !redirects.isEmpty)
                guard let next = try hop.redirected(by: response) else {
                    let duration = context.clock.uptime - start
                    return APIResponse(response, url: hop.url, redirects: redirects, duration: duration)
                }
                redirects.append(hop.url)
                try request.redirectPolicy.check(count: redirects.count)
                hop = try next.within(request.deadline, after: context.clock.uptime - start)
            }
        } catch {
            throw failure(error, isRedirected: !redirects.isEmpty)
        }
    }

    // What is inlined into an asynchronous function increases the memory of each exchange in progress.

    /// Returns a request as it is sent, with its cookies.
    @inline(never) private func prepared(
        _ request: HTTPRequest,
        _ session: CookieSession
    ) throws(TransportError) -> HTTPRequest {
        try request.validate()
        guard !Task.isCancelled else { throw TransportError(.cancelled, "cancelled before it was sent") }
        guard request.headers["Cookie"] == nil, let cookie = session.field(for: request.url, at: context.clock.date)
        else {
            return request
        }
        var request = request
        request.headers.append(cookie)
        return request
    }

    /// Stores the cookies of an answer and what it shows of the connection.
    @inline(never) private func record(
        _ response: HTTPResponse,
        of request: HTTPRequest,
        _ session: CookieSession,
        isRedirected: Bool
    ) {
        session.store(from: response.headers, url: request.url, at: context.clock.date)
        if let host, !isRedirected { context.queue.record(isMultiplexed: response.isMultiplexed, of: host) }
    }

    @inline(never) private func failure(_ error: TransportError, isRedirected: Bool) -> APIError {
        APIError(explained(isRedirected ? error.afterRedirect : error), messages: messages)
    }

    /// Returns `noNetwork` for a name without an address while the network is known to be unreachable, which explains it;
    /// otherwise the name may be wrong.
    private func explained(_ error: TransportError) -> TransportError {
        guard error.kind == .hostNotFound, context.reachability.status == .unreachable else { return error }
        return TransportError(.noNetwork, error.reason, underlying: error.underlying)
    }

    /// Makes a file that ends with the load.
    private func stage(_ target: URL) throws(APIError) -> StagedFile {
        do throws(TransportError) {
            guard let id else { throw TransportError(.invalidRequest, "loads that write a file share no exchange") }
            let file = try StagedFile(for: target)
            // In the table before it is on the disk, so that a cancel in between prevents it.
            guard context.loads.setFile(file, of: id), try file.make() else {
                throw TransportError(.cancelled, "cancelled before it was sent")
            }
            return file
        } catch {
            throw APIError(error, messages: messages)
        }
    }
}

extension TransportError {
    /// This error when a server has had the request before, so that it is no longer true that nothing was sent.
    fileprivate var afterRedirect: TransportError {
        guard [.noNetwork, .hostNotFound, .cannotConnect].contains(kind) else { return self }
        return TransportError(.connectionLost, "after a redirect: \(reason)", underlying: underlying)
    }
}

extension RedirectPolicy {
    /// Throws when there are more redirects than allowed.
    fileprivate func check(count: Int) throws(TransportError) {
        guard count > limit else { return }
        throw TransportError(.badResponse, "more than \(limit) redirects")
    }
}

extension APIResponse {
    /// This 304 with the existing file, which is what it describes (RFC 9110 section 15.4.5), if there is one.
    fileprivate func unmodified(_ file: URL) -> APIResponse {
        FileManager.default.fileExists(atPath: file.path) ? having(file: file) : self
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
