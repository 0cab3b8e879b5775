import Foundation

extension APIService {
    /// The failure that the status tells of; an envelope in the body gives it its code and message.
    func failure(of response: APIResponse) -> APIError? {
        guard !response.isSuccess else { return nil }
        let head = envelope.flatMap { try? decoder.decode(EnvelopeHead.self, from: response.body, configuration: $0) }
        let isExpired =
            loginExpiredStatuses.contains(response.status)
            || head.map { envelope?.loginExpiredCodes.contains($0.code) == true } == true
        return error(isExpired ? .loginExpired : .http, head, response)
    }

    /// What stands for an answer without content, such as a 204: an optional is `nil` then, and any other type has its say
    /// about the missing value.
    private static let null = Data("null".utf8)

    /// The value that a whole body holds.
    func decode<Value: Decodable>(_ response: APIResponse) throws -> Value {
        try decoder.decode(Value.self, from: response.body.isEmpty ? Self.null : response.body)
    }

    /// The value that stands in an envelope.
    ///
    /// - Throws: `server` or `loginExpired` as the code says, `DecodingError`.
    func decode<Value: Decodable>(_ response: APIResponse, in envelope: Envelope) throws -> Value {
        guard !response.body.isEmpty else { return try decode(response) }
        let content = try decoder.decode(
            EnvelopeContent<Value>.self,
            from: response.body,
            configuration: envelope
        )
        switch content {
        case .success(let value): return value
        case .successWithoutData: return try decoder.decode(Value.self, from: Self.null)
        case .failure(let head): throw businessError(head, response, envelope)
        }
    }

    /// Lets a JSON answer through unless its envelope tells of a failure.
    func checkEnvelope(of response: APIResponse) throws(APIError) {
        guard let envelope, response.isJSON else { return }
        guard
            let head = try? decoder.decode(EnvelopeHead.self, from: response.body, configuration: envelope),
            !envelope.successCodes.contains(head.code)
        else { return }
        throw businessError(head, response, envelope)
    }

    private func businessError(_ head: EnvelopeHead, _ response: APIResponse, _ envelope: Envelope) -> APIError {
        error(envelope.loginExpiredCodes.contains(head.code) ? .loginExpired : .server, head, response)
    }

    private func error(_ type: APIErrorType, _ head: EnvelopeHead?, _ response: APIResponse) -> APIError {
        APIError(type, service: self, serverMessage: head?.message, code: head?.code, response: response)
    }
}
