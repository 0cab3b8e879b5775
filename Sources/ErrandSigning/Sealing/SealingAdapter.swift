import Errand
import Foundation

struct SealingAdapter: LookupAdapter {
    let sealing: TrafficSealing
    /// The service as it was when sealing was set up, for the login of an environment.
    let service: APIService

    var requestAdapter: Adapter<HTTPRequest> { Adapter(of: self) { try await adapt(&$0, context: $1) } }
    var responseAdapter: Adapter<APIResponse> { Adapter(of: self) { try await adapt(&$0, context: $1) } }

    private func exchange(in context: AdapterContext) -> KeySession.Exchange {
        KeySession.Exchange(sealing: sealing, service: service, context: context)
    }
}

// MARK: Requests

extension SealingAdapter {
    private func adapt(_ request: inout HTTPRequest, context: AdapterContext) async throws {
        let session = sealing.sessions.session(of: context.environment)
        guard !context.isOfLookup, !APIService.isInLoginRequests(of: session) else { return }
        do {
            // Not before it can be sent: an exchange is costly.
            let body = try request.sealableBody(limit: sealing.maxBodyBytes, isOfStream: context.isOfStream)
            let key = try await session.key(for: context.id, exchange(in: context))
            request.headers[sealing.keyIDHeader] = key.id
            // Another one for each send, so that no earlier response fits this one.
            request.headers[sealing.nonceHeader] = [UInt8].random(count: 16).hexadecimal
            guard let body else { return }
            // As the server reads the header that it is sent in (RFC 9110 section 5.5).
            let type = request.headers["Content-Type"]?.trimmingCharacters(in: .whitespaces)
            let lines = SealedLines(request, key: key, nonce: request.headers[sealing.nonceHeader], contentType: type)
            request.body = .data(try sealing.seal(body, key: key, authenticating: lines))
            request.headers[sealing.contentTypeHeader] = type
            request.headers["Content-Type"] = sealing.mediaType
        } catch let error as SigningError {
            throw APIError(.invalidRequest, reason: error.description, underlying: error)
        }
    }
}

// MARK: Responses

extension SealingAdapter {
    private func adapt(_ response: inout APIResponse, context: AdapterContext) async throws {
        // A stored response that is sealed was sealed for another request.
        guard !context.isOfLookup || !isSealed(response) else {
            throw APIError(.security, reason: "a stored response that is sealed cannot be opened")
        }
        // Without the header the request was one of the exchange itself, or for another origin.
        guard let request = context.request, let keyID = request.headers[sealing.keyIDHeader] else { return }
        let session = sealing.sessions.session(of: context.environment)
        guard !APIService.isInLoginRequests(of: session) else { return }
        // Servers send the header lines of a body that is not sent as well.
        let mayHaveBody = !response.body.isEmpty || request.method.allowsResponseBody(response.status)
        guard mayHaveBody, isSealed(response) else {
            return try await accept(response, to: request, session, keyID, context)
        }
        do throws(SigningError) {
            guard let key = session.key(named: keyID, forResponseTo: context.id) else {
                throw SigningError(.stale, reason: "the key of the response has been removed")
            }
            let type = response.headers[sealing.contentTypeHeader]
            let nonce = request.headers[sealing.nonceHeader]
            let lines = SealedLines(request, key: key, nonce: nonce, contentType: type, status: response.status)
            response.body = try sealing.open(response.body, key: key, authenticating: lines)
            response.headers["Content-Type"] = type
        } catch {
            throw APIError(.security, reason: error.description, underlying: error)
        }
        response.headers.remove(sealing.contentTypeHeader)
        // Both are of the sealed body.
        response.headers.remove("Content-Length")
        response.headers.remove("Repr-Digest")
    }

    private func isSealed(_ response: APIResponse) -> Bool {
        // As servers usually write it, which costs less than the comparison after it.
        response.headers["Content-Type"] == sealing.mediaType
            || response.headers.mediaType == sealing.mediaType.lowercased()
    }

    /// Returns if the response need not be sealed.
    ///
    /// - Throws: `AdapterRetry` when there is a new key, `security` when the response must be sealed.
    private func accept(
        _ response: APIResponse,
        to request: HTTPRequest,
        _ session: KeySession,
        _ keyID: String,
        _ context: AdapterContext
    ) async throws {
        let code = sealing.code(in: response)
        if sealing.isExpiry(response, code) {
            try await session.renew(after: keyID, for: context.id, exchange(in: context))
            guard context.maySendAgain(for: .key) else { throw APIError.refusedAgain }
            throw AdapterRetry.again(for: .key)
        }
        session.forgetReplay(of: context.id)
        // Nothing can authenticate the response to HEAD, which only reports what is not sealed anyway.
        let isEmptyHead = request.method == .head && response.body.isEmpty
        guard !isEmptyHead, !sealing.isClear(response, code) else { return }
        let error = SigningError(.notSealed, reason: notSealedReason(response, to: request))
        throw APIError(.security, reason: error.description, underlying: error)
    }

    private func notSealedReason(_ response: APIResponse, to request: HTTPRequest) -> String {
        guard !request.method.allowsResponseBody(response.status) else {
            return "the response is not sealed: its Content-Type is not \(sealing.mediaType)"
        }
        return """
            the response is not sealed, as status \(response.status) has no body; \
            the server has to seal an empty body and respond with status 200, or clearStatuses has to name the status
            """
    }
}

extension HTTPRequest {
    /// Returns the bytes to seal; `nil` without a body.
    ///
    /// - Throws: `unsupportedRequest`, also for a response in a file, which would have to be opened there, and for a stream, whose
    ///   elements are used before its end.
    fileprivate func sealableBody(limit: Int, isOfStream: Bool) throws(SigningError) -> Data? {
        guard destination == .memory, !isOfStream else {
            let kind = isOfStream ? "stream" : "response that is stored in a file"
            let reason = "a \(kind) cannot be opened; use a copy of the service without sealing"
            throw SigningError(.unsupportedRequest, reason: reason)
        }
        return body.isEmpty ? nil : try body.bytes(limit: limit)
    }

}
