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

    /// The value in the JSON of an answer: under the data key of the envelope, or the whole without one.
    ///
    /// - Throws: ``APIError`` as the code says, where there is no JSON and where nothing is under the data key; `DecodingError`
    ///   where the JSON has another shape.
    func value<Value: Decodable>(of response: APIResponse, as type: Value.Type) throws -> Value {
        guard !response.body.isEmpty else { return try valueOfNothing() }
        guard let envelope else { return try read(response) { try $0.singleValueContainer().decode(type) } }
        switch try read(response, { try EnvelopeContent<Value>(from: $0, configuration: envelope) }) {
        case .success(let value): return value
        case .successWithoutData(let error): return try valueWithoutData(error, envelope)
        case .failure(let head): throw businessError(head, response, envelope)
        }
    }

    private func read<Value>(
        _ response: APIResponse,
        _ read: @escaping (any Decoder) throws -> Value
    ) throws -> Value {
        var isJSON = false
        do {
            return try JSONDocument.decode(response.body, with: decoder) {
                isJSON = true
                return try read($0)
            }
        } catch let error as DecodingError where !isJSON {
            throw APIError(.decoding, service: self, reason: response.reasonForNoJSON, underlying: error)
        }
    }

    /// The value of an answer without content, such as a 204: that of `null`, where the type has one.
    private func valueOfNothing<Value: Decodable>() throws -> Value {
        do {
            return try decodeNull()
        } catch let error as DecodingError {
            let reason = "the answer has no content, from which \(Value.self) is made: let it be optional, or Void"
            throw APIError(.decoding, service: self, reason: reason, underlying: error)
        }
    }

    /// The value of an envelope without its data: `nil` for an optional, and what a type without content has.
    private func valueWithoutData<Value: Decodable>(_ error: DecodingError, _ envelope: Envelope) throws -> Value {
        guard Value.self is any ExpressibleByNilLiteral.Type || MemoryLayout<Value>.size == 0 else {
            let reason = "the envelope has no \(envelope.dataKey), from which \(Value.self) is made"
            throw APIError(.decoding, service: self, reason: reason, underlying: error)
        }
        return try decodeNull()
    }

    private func decodeNull<Value: Decodable>() throws -> Value {
        try decoder.decode(Value.self, from: Data("null".utf8))
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
