import Foundation

/// The part of a response that is decoded: what is under the envelope's data key, or the whole body.
struct DecodedData {
    let body: Data
    let range: Range<Data.Index>

    var data: Data { Data(body[range]) }

    /// Returns `nil` for a text that would change what surrounds it, because it is not one JSON value.
    func body(with data: Data) -> Data? {
        guard range != body.indices else { return data }
        guard (try? JSONValue(json: data)) != nil else { return nil }
        let text = data.withoutByteOrderMark
        return body[..<range.lowerBound] + text + body[range.upperBound...]
    }
}

/// Where a serializer reads the body of a response.
enum BodySource: Sendable {
    case memory
    case file
    /// In one of the two, or not at all.
    case either
}

/// Of which responses a serializer decodes something, which data adapters change; the later cases comprise more, of successes.
enum DecodedResponses: Int, Sendable {
    case none
    /// Those in an envelope.
    case enveloped
    /// Those in the format of the decoder.
    case readable
    case successes
    case all

    /// An optional is `nil` for another status than 2xx, without being decoded.
    static func of<Value>(_ type: Value.Type) -> DecodedResponses { type is any OptionalValue.Type ? .successes : .all }
    func union(_ other: DecodedResponses) -> DecodedResponses { rawValue < other.rawValue ? other : self }
}

extension ResponseReader {
    /// Returns `nil` if nothing is decoded, or if decoding finds the failure.
    func decodedData(
        of response: APIResponse,
        in responses: DecodedResponses
    ) throws(APIError) -> DecodedData? {
        guard !response.body.isEmpty, decodes(response, of: responses) else { return nil }
        let whole = DecodedData(body: response.body, range: response.body.indices)
        guard let envelope = service.envelope, !envelope.isWholeBody else {
            return responses == .enveloped ? nil : whole
        }
        guard let head = try? head(of: response, in: envelope), head.isSuccess == true else { return nil }
        guard let path = envelope.dataKey else { return whole }
        do {
            let range = try JSONMember.range(of: path, in: response.body, convertsNames: convertsNames(in: response))
            if let range { return DecodedData(body: response.body, range: range) }
            // Its bytes are not found: it would be decoded without its adapters.
            if case .success? = try? content(of: response, in: envelope) as EnvelopeContent<AnyContent> {
                let context = DecodingError.Context(codingPath: [], debugDescription: "only the decoder finds \(path)")
                throw DecodingError.dataCorrupted(context)
            }
            return nil
        } catch {
            let reason = "data adapters change JSON in UTF-8, without JSON5 and a custom strategy for keys"
            throw APIError(.decoding, reason: reason, response: response, underlying: error)
        }
    }

    private func decodes(_ response: APIResponse, of responses: DecodedResponses) -> Bool {
        switch responses {
        case .none: false
        case .enveloped: hasEnvelope(response)
        // The serializer may be chosen whatever the Content-Type is, which servers often have wrong.
        case .readable:
            canDecode(response) || (custom == nil || custom is JSONDecoder) && response.beginsLikeContainer
        case .successes: response.isSuccess
        case .all: true
        }
    }

    /// Throws for a response whose names cannot be known.
    private func convertsNames(in response: APIResponse) throws -> Bool {
        if let custom, !(custom is JSONDecoder) {
            _ = try JSONValue(json: response.body)
            return false
        }
        guard let convertsNames = ((custom as? JSONDecoder) ?? service.decoder).convertsNames else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the decoder changes names"))
        }
        return convertsNames
    }
}

/// A value of any form, of which nothing is read.
private struct AnyContent: Decodable {
    init(from decoder: any Decoder) {}
}

extension APIError {
    func withReason(forAdapted data: Data) -> APIError {
        guard type == .decoding, (try? JSONValue(json: data)) == nil else { return self }
        let reason = "the data adapters have left data that is not JSON"
        return caused(by: APIError(type, reason: reason, underlying: underlying))
    }
}
