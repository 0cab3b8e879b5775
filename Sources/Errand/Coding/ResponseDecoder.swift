public import Foundation

/// Decodes the bodies of responses that are not JSON, or are decoded by another decoder than the service's `JSONDecoder`.
///
/// Set it for a service as ``APIService/customDecoder``, or for one request with ``ResponseSerializer/decoded(by:)``. It also
/// reads the envelope.
///
/// ```swift
/// service.customDecoder = PropertyListDecoder()
/// ```
public protocol ResponseDecoder: Sendable {
    /// Returns the value of a body.
    ///
    /// Called on any thread, for several responses at a time. Must call `Decodable.init(from:)` on the thread on which this
    /// method is called. A thrown error becomes the underlying error of a `decoding` failure.
    func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value

    /// Returns whether the body of a response is in the decoder's format, by its headers; `true` by default.
    ///
    /// Called on any thread. The responses of requests for `Data`, `String` and `Void` are examined for a failure in the envelope
    /// only if this is `true`.
    func canDecode(_ response: APIResponse) -> Bool
}

extension ResponseDecoder {
    /// Whether the `Content-Type` is JSON for a `JSONDecoder`, and that of a property list for a `PropertyListDecoder`; `true` for
    /// every other decoder.
    public func canDecode(_ response: APIResponse) -> Bool {
        switch self {
        case is JSONDecoder: response.isJSON
        case is PropertyListDecoder: response.headers["Content-Type"]?.lowercased().contains("plist") == true
        default: true
        }
    }
}

extension JSONDecoder: ResponseDecoder {}
extension PropertyListDecoder: ResponseDecoder {}

extension ResponseDecoder {
    func decode<Content: DecodableWithConfiguration>(_ body: Data, in envelope: Envelope) throws -> Content
    where Content.DecodingConfiguration == Envelope {
        try EnvelopeScope.$current.withValue(envelope) { try decode(InEnvelope<Content>.self, from: body).content }
    }
}

/// The envelope that is being decoded, which a decoder without configurations cannot pass on.
private enum EnvelopeScope {
    @TaskLocal static var current: Envelope?
}

/// What is decoded with the current envelope.
private struct InEnvelope<Content: DecodableWithConfiguration>: Decodable
where Content.DecodingConfiguration == Envelope {
    let content: Content

    init(from decoder: any Decoder) throws {
        guard let envelope = EnvelopeScope.current else {
            let text = "the decoder calls Decodable.init(from:) on another thread"
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
        }
        content = try Content(from: decoder, configuration: envelope)
    }
}
