import Foundation

/// One load on its way through the proxy: what to send, to whom, and how to read the answer.
struct APICall<Value: Sendable>: Sendable {
    let id: RequestID
    let service: APIService
    let draft: RequestDraft
    let serializer: ResponseSerializer<Value>
    let isLoginRequest: Bool
    let progress: TransferProgress.Handler?
}

/// A decoded answer and the raw one.
struct APIAnswer<Value: Sendable>: Sendable {
    let value: Value
    let response: APIResponse
}

extension APIProxy {
    /// The life of one load, off the main actor: sends it, signs in again if the login has expired, and sends it once more.
    func perform<Value>(_ call: APICall<Value>) async throws(APIError) -> APIAnswer<Value> {
        guard call.service.reloginHandler != nil, !call.isLoginRequest else { return try await attempt(call) }
        let relogin = call.service.relogin
        let generation = try await relogin.ready(call.id)
        do {
            return try await attempt(call)
        } catch {
            guard error.type == .loginExpired else { throw error }
            try await renew(call, after: generation, because: error)
            return try await attempt(call)
        }
    }

    private func renew<Value>(
        _ call: APICall<Value>,
        after generation: Int,
        because refusal: APIError
    ) async throws(APIError) {
        do {
            try await call.service.relogin.renew(call.id, after: generation, for: call.service)
        } catch {
            // Each waiter keeps its own answer; what they share is why the relogin failed.
            throw error.type == .loginExpired ? refusal.caused(by: error) : error
        }
    }

    private func attempt<Value>(_ call: APICall<Value>) async throws(APIError) -> APIAnswer<Value> {
        let request = try call.draft.request(for: call.service)
        let response = try await exchange(request, for: call.service, progress: call.progress)
        return APIAnswer(value: try call.serializer.value(of: response, from: call.service), response: response)
    }

    /// Sends a request and follows its redirects, within one deadline, with each hop's own cookies.
    func exchange(
        _ request: HTTPRequest,
        for service: APIService?,
        progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        let start = ContinuousClock.now
        var (hop, redirects) = (request, [URL]())
        do throws(TransportError) {
            while true {
                let response = try await send(hop, progress)
                guard let next = try hop.redirected(by: response) else {
                    return APIResponse(response, url: hop.url, redirects: redirects, duration: start.duration(to: .now))
                }
                redirects.append(hop.url)
                hop = try next.within(request.timeout, since: start, redirects: redirects.count)
            }
        } catch {
            throw APIError(error, service: service)
        }
    }

    private func send(
        _ request: HTTPRequest,
        _ progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        try request.validate()
        guard !Task.isCancelled else { throw TransportError(.cancelled, "cancelled before it was sent") }
        var request = request
        let generation = cookies.generation
        if request.headers["Cookie"] == nil, let cookie = cookies.field(for: request.url) {
            request.headers.append(cookie)
        }
        let response = try await transport.send(request, progress: progress)
        cookies.store(from: response.headers, url: request.url, generation: generation)
        return response
    }
}

extension HTTPRequest {
    /// This redirected request with what is left of the exchange's time.
    fileprivate func within(
        _ timeout: Duration?,
        since start: ContinuousClock.Instant,
        redirects: Int
    ) throws(TransportError) -> HTTPRequest {
        guard redirects <= Self.redirectLimit else {
            throw TransportError(.badResponse, "more than \(Self.redirectLimit) redirects")
        }
        var request = self
        request.timeout = timeout.map { $0 - start.duration(to: .now) }
        guard request.timeout.map({ $0 > .zero }) != false else {
            throw TransportError(.timeout, "the deadline passed between two redirects")
        }
        return request
    }
}
