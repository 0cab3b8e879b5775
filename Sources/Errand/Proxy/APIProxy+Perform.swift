import Foundation

extension APIProxy {
    /// The life of one load, off the main actor: it is sent, and sent again after a relogin or where a retry may help.
    func perform<Value>(_ call: APICall<Value>, _ turn: Turn) async throws(APIError) -> APIAnswer<Value> {
        var (turn, tries) = (turn, Tries())
        call.service.retryBudget.countRequest(at: clock.uptime)
        while true {
            let generation = try await generation(for: call, &turn)
            do throws(APIError) {
                return try await attempt(call, in: generation, &turn)
            } catch {
                discardFile(of: call.id)
                let error = error.withoutFile.of(call.draft.method, path: call.draft.path)
                try await recover(from: error, of: call, in: generation, &tries)
            }
        }
    }

    /// The generation of the login to send with, once no relogin runs; who has to wait for that lets others go.
    private func generation<Value>(for call: APICall<Value>, _ turn: inout Turn) async throws(APIError) -> Int {
        guard call.renewsLogin else { return call.service.relogin.generation }
        if let generation = call.service.relogin.currentGeneration { return generation }
        giveBack(&turn)
        return try await call.service.relogin.ready(call.id)
    }

    private func attempt<Value>(
        _ call: APICall<Value>,
        in generation: Int,
        _ turn: inout Turn
    ) async throws(APIError) -> APIAnswer<Value> {
        let response = try await response(to: call, in: generation, &turn)
        let answer = APIAnswer(value: try call.serializer.value(of: response, from: call.service), response: response)
        if call.loginRole == .signIn { call.service.relogin.didSignIn() }
        return answer
    }

    private func response<Value>(
        to call: APICall<Value>,
        in generation: Int,
        _ turn: inout Turn
    ) async throws(APIError) -> APIResponse {
        guard call.coalescesIdentical else {
            // Not before it is its turn: a queued load costs no body, and its headers are those of now.
            return try await inTurn(&turn) { () async throws(APIError) in
                try await answer(to: adaptedRequest(of: call), of: call)
            }
        }
        // Before it is compared with others: they share what goes to the wire.
        let request = try await adaptedRequest(of: call)
        if request.isShareable { return try await joinedResponse(request, of: call, in: generation) }
        var ownTurn = Turn(place: call.exchangePlace)
        return try await inTurn(&ownTurn) { () async throws(APIError) in try await answer(to: request, of: call) }
    }

    private func answer<Value>(
        to request: HTTPRequest,
        of call: APICall<Value>
    ) async throws(APIError) -> APIResponse {
        guard isActive(call.id) else { throw APIError(.cancelled) }
        let response = try await exchange(request, of: call.id, for: call.service, progress: call.progress)
        if let refusal = response.shortJSON { try call.service.checkEnvelope(of: refusal) }
        return response
    }

    /// What goes to the wire for a load, but for its cookies.
    func adaptedRequest<Value>(of call: APICall<Value>) async throws(APIError) -> HTTPRequest {
        var request = try await call.service.adapted(call.draft.request(for: call.service))
        // Not before the headers are there: after a logout they are another account's.
        guard isActive(call.id) else { throw APIError(.cancelled) }
        return request
    }

    /// Sends a request and follows its redirects, within one deadline, with each hop's own cookies.
    func exchange(
        _ request: HTTPRequest,
        for service: APIService?,
        progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        let start = clock.uptime
        var (hop, redirects) = (request, [URL]())
        let session = CookieSession(jar(for: service))
        do throws(TransportError) {
            while true {
                let response = try await send(hop, in: session, progress)
                guard let next = try hop.redirected(by: response) else {
                    return APIResponse(response, url: hop.url, redirects: redirects, duration: clock.uptime - start)
                }
                redirects.append(hop.url)
                hop = try next.within(request.deadline, after: clock.uptime - start, redirects: redirects.count)
            }
        } catch {
            throw APIError(withReachability(redirects.isEmpty ? error : error.behindRedirect), service: service)
        }
    }

    /// The error of a name without an address as `noNetwork` while the network is known to be unreachable, which explains
    /// it; otherwise the name may be wrong.
    private func withReachability(_ error: TransportError) -> TransportError {
        guard error.kind == .hostNotFound, reachability.status == .unreachable else { return error }
        return TransportError(.noNetwork, error.reason, underlying: error.underlying)
    }

    private func send(
        _ request: HTTPRequest,
        in session: CookieSession,
        _ progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        try request.validate()
        guard !Task.isCancelled else { throw TransportError(.cancelled, "cancelled before it was sent") }
        var request = request
        if request.headers["Cookie"] == nil, let cookie = session.field(for: request.url, at: clock.date) {
            request.headers.append(cookie)
        }
        let response = try await transport.send(request, progress: progress)
        session.store(from: response.headers, url: request.url, at: clock.date)
        return response
    }
}

extension TransportError {
    /// This error when a server has had the request before: that nothing was sent is true no more.
    fileprivate var behindRedirect: TransportError {
        guard [.noNetwork, .hostNotFound, .cannotConnect].contains(kind) else { return self }
        return TransportError(.connectionLost, "behind a redirect: \(reason)", underlying: underlying)
    }
}

extension HTTPRequest {
    /// Whether its answer may be that of several loads.
    var isShareable: Bool { [.get, .head].contains(method) && destination == .memory }

    /// This redirected request with what is left of the exchange's time.
    fileprivate func within(
        _ deadline: Duration?,
        after elapsed: Duration,
        redirects: Int
    ) throws(TransportError) -> HTTPRequest {
        guard redirects <= Self.redirectLimit else {
            throw TransportError(.badResponse, "more than \(Self.redirectLimit) redirects")
        }
        var request = self
        request.deadline = deadline.map { $0 - elapsed }
        guard request.deadline.map({ $0 > .zero }) != false else {
            throw TransportError(.timeout, "the deadline passed between two redirects")
        }
        return request
    }
}
