import Foundation

extension APIService {
    /// Returns the failure of an answer, with the code and message in its body: for a status that is neither 2xx nor in
    /// `statuses`, for a 2xx in which ``failureReader`` finds a failure, and for an expired login by ``isLoginExpired``; or `nil`.
    func failure(of response: APIResponse, accepting statuses: Set<Int> = []) -> APIError? {
        guard !response.isSuccess else {
            // The body of a file has been read if it is short JSON.
            guard response.file == nil else { return nil }
            return failureReader?.refusal(in: response).map { error(.server, for: $0, in: response) }
        }
        guard statuses.contains(response.status) else { return error(.http, for: refusal(in: response), in: response) }
        guard let isLoginExpired, response.file == nil else { return nil }
        let refusal = refusal(in: response)
        guard isLoginExpired(response.withStatement(of: refusal)) == true else { return nil }
        return APIError(.loginExpired, failure: refusal, response: response)
    }

    /// Returns the code and message of an answer whose status is not 2xx.
    private func refusal(in response: APIResponse) -> ServerFailure {
        let failure = failureReader?.refusal(in: response)
        if let failure, failure.code != nil { return failure }
        let head = envelope.flatMap { try? self.head(of: response, in: $0) }
        var known = failure ?? ServerFailure(head?.statement)
        known.code = known.code ?? head?.statement.code
        return known
    }

    /// Returns the value of an answer: under the envelope's data key, or the whole if there is no envelope.
    ///
    /// An optional is `nil` if the status is not 2xx. `response` receives the code and message of the envelope.
    ///
    /// - Throws: ``APIError`` for the envelope's code, for an answer that is not JSON, and for a missing value under the data
    ///   key; `DecodingError` for JSON of another shape.
    func value<Value: Decodable>(of response: inout APIResponse, as type: Value.Type) throws -> Value {
        let isRefusal = !response.isSuccess && Value.self is any OptionalValue.Type
        guard !response.body.isEmpty, !isRefusal else { return try valueOfNothing() }
        guard let envelope, !envelope.isWholeBody else {
            return try whole(response)
        }
        switch try content(of: response, in: envelope) as EnvelopeContent<Value> {
        case .success(let value, let statement):
            response = response.withStatement(statement)
            return value
        case .successWithoutData(let error, let statement):
            response = response.withStatement(statement)
            return try valueWithoutData(in: envelope, error: error)
        case .failure(let statement): throw error(.server, for: ServerFailure(statement), in: response)
        case .notEnveloped(let error):
            let remedy = "a service without one has the `envelope` nil, and a request `.wholeBody`"
            let reason = "the answer is not in the service's envelope (\(error.place)); \(remedy)"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
    }

    private func whole<Value: Decodable>(_ response: APIResponse) throws -> Value {
        guard let customDecoder else {
            return try decode(response) { try $0.singleValueContainer().decode(Value.self) }
        }
        return try decode(response, by: customDecoder) { try customDecoder.decode(Value.self, from: $0) }
    }

    func content<Value: Decodable>(
        of response: APIResponse,
        in envelope: Envelope
    ) throws -> EnvelopeContent<Value> {
        guard let customDecoder else {
            return try decode(response) { try EnvelopeContent<Value>(from: $0, configuration: envelope) }
        }
        return try decode(response, by: customDecoder) { try customDecoder.content(of: $0, in: envelope) }
    }

    /// Returns what an envelope contains besides its data.
    func head(of response: APIResponse, in envelope: Envelope) throws -> EnvelopeHead {
        guard let customDecoder else {
            return try decoder.decode(EnvelopeHead.self, from: response.body, configuration: envelope)
        }
        return try customDecoder.head(of: response.body, in: envelope)
    }

    private func decode<Value>(
        _ response: APIResponse,
        by decoder: any ResponseDecoder,
        _ read: (Data) throws -> Value
    ) throws -> Value {
        do {
            return try read(response.body)
        } catch  where !decoder.canDecode(response) {
            let reason = "the answer is not in the format of \(type(of: decoder)) (\(response.typeForReason))"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
    }

    private func decode<Value>(
        _ response: APIResponse,
        with read: (any Decoder) throws -> Value
    ) throws -> Value {
        var isJSON = false
        do {
            return try JSONDocument.decode(response.body, with: decoder) {
                isJSON = true
                return try read($0)
            }
        } catch let error as DecodingError where !isJSON {
            throw APIError(.decoding, reason: response.notJSONReason, underlying: error)
        }
    }

    /// Returns the value of an answer without content, such as a 204: that of `null`, if the type has one.
    private func valueOfNothing<Value: Decodable>() throws -> Value {
        do {
            return try decodeNull()
        } catch let error as DecodingError {
            let reason = "the answer has no content to decode \(Value.self) from: use an optional type, or Void"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
    }

    /// Returns the value of an envelope without data: `nil` for an optional, and the value of a type of size 0.
    private func valueWithoutData<Value: Decodable>(in envelope: Envelope, error: DecodingError) throws -> Value {
        guard Value.self is any OptionalValue.Type || MemoryLayout<Value>.size == 0 else {
            let reason = "the envelope has no \(envelope.dataKey ?? "data") to decode \(Value.self) from"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
        return try decodeNull()
    }

    private func decodeNull<Value: Decodable>() throws -> Value {
        try decoder.decode(Value.self, from: Data("null".utf8))
    }

    /// Returns whether the body of an answer is in the format of the decoder.
    func canDecode(_ response: APIResponse) -> Bool { customDecoder?.canDecode(response) ?? response.isJSON }

    /// Throws the failure in the envelope of an answer in the decoder's format with a 2xx status, if there is one.
    ///
    /// `response` receives the code and message of the envelope. An object is read whatever its `Content-Type`, because servers
    /// send JSON as `text/html` as well.
    func checkEnvelope(of response: inout APIResponse) throws(APIError) {
        guard let envelope, !envelope.isWholeBody, response.isSuccess else { return }
        guard canDecode(response) || customDecoder == nil && response.beginsLikeObject else { return }
        guard let head = try? head(of: response, in: envelope), let isSuccess = head.isSuccess else { return }
        guard isSuccess else { throw error(.server, for: ServerFailure(head.statement), in: response) }
        response = response.withStatement(head.statement)
    }

    private func error(_ type: APIErrorType, for failure: ServerFailure, in response: APIResponse) -> APIError {
        let ownType = failure.type == .cancelled ? nil : failure.type
        let finalType: APIErrorType =
            switch isLoginExpired?(response.withStatement(of: failure)) {
            case true?: .loginExpired
            case false?: ownType == .loginExpired ? type : ownType ?? type
            case nil: ownType ?? (isExpired(failure, type, in: response) ? .loginExpired : type)
            }
        return APIError(finalType, failure: failure, response: response)
    }

    /// Returns whether the status or the code of a failure is one of an expired login.
    private func isExpired(_ failure: ServerFailure, _ type: APIErrorType, in response: APIResponse) -> Bool {
        if type == .http, loginExpiredStatuses.contains(response.status) { return true }
        return failure.code.map { envelope?.loginExpiredCodes.contains($0) == true } == true
    }
}

extension ServerFailure {
    fileprivate init(_ statement: ServerStatement?) {
        self.init(code: statement?.code, message: statement?.message)
    }
}

extension APIResponse {
    fileprivate func withStatement(of failure: ServerFailure) -> APIResponse {
        withStatement(ServerStatement(code: failure.code, message: failure.message))
    }
}

/// An optional, whatever it wraps.
protocol OptionalValue {}
extension Optional: OptionalValue {}

extension APIResponse {
    /// Describes an answer that should be JSON and is not, for an error.
    ///
    /// Quotes only the media types and markup of the lists below, because other text may contain secrets.
    var notJSONReason: String {
        let type = typeForReason
        guard let markup = Self.markup.first(where: begins) else { return "the answer is malformed JSON (\(type))" }
        return "the answer is not JSON (\(type), begins with \(markup))"
    }

    /// The media type, if it is in the list below.
    fileprivate var typeForReason: String {
        headers["Content-Type"].map { Self.mediaType($0) ?? "another Content-Type" } ?? "no Content-Type"
    }

    private static func mediaType(_ field: String) -> String? {
        let type = field.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return mediaTypes.first { $0 == type }
    }

    private func begins(with markup: String) -> Bool {
        String(decoding: start.prefix(markup.utf8.count), as: UTF8.self).lowercased() == markup.lowercased()
    }

    /// The beginning of the body, without spaces and a byte order mark.
    private var start: Data { body.prefix(256).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) } }

    /// Whether the body begins like a JSON object.
    var beginsLikeObject: Bool { start.first == UInt8(ascii: "{") }

    // A text is listed before its prefixes.
    private static let markup = [
        "<!DOCTYPE html", "<!DOCTYPE", "<html", "<head", "<body", "<?xml", "<rss", "<feed", "<svg", "<soap:Envelope",
        "<",
    ]

    private static let mediaTypes = [
        "text/html", "text/plain", "text/xml", "text/css", "text/csv", "text/javascript", "text/event-stream",
        "application/json", "application/problem+json", "application/vnd.api+json", "application/xml",
        "application/xhtml+xml", "application/soap+xml", "application/problem+xml", "application/rss+xml",
        "application/atom+xml", "application/javascript", "application/octet-stream", "application/pdf",
        "application/zip", "application/gzip", "application/x-www-form-urlencoded", "application/x-protobuf",
        "multipart/form-data", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp",
    ]
}
