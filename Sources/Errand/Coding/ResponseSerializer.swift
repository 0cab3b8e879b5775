public import Foundation

/// Makes a request's ``APIManager/Response`` of an answer, off the main actor.
///
/// The default follows the type: `String` is text, `Data` the body as it is, ``DownloadedFile`` where it was written to,
/// `Void` nothing, and any other `Decodable` (``JSONValue`` for JSON of unknown shape) JSON, which with an envelope is what
/// stands under its data key.
public struct ResponseSerializer<Value: Sendable>: Sendable {
    let serialize: @Sendable (APIResponse, APIService) throws -> Value

    /// Creates a serializer of one's own.
    ///
    /// - Parameter serialize: Called once for each 2xx answer, off the main actor. An error that is not an ``APIError``
    ///   becomes the underlying error of a `decoding` failure. ``APIResponse/file`` is still temporary: read it, but name
    ///   ``BaseAPIRequest/destination`` in the value.
    public init(_ serialize: @escaping @Sendable (APIResponse, APIService) throws -> Value) {
        self.serialize = serialize
    }

    /// The value of `response`.
    ///
    /// - Throws: `loginExpired`, `http`, `server` or `decoding`.
    func value(of response: APIResponse, from service: APIService) throws(APIError) -> Value {
        if let failure = service.failure(of: response) { throw failure }
        do {
            return try serialize(response, service)
        } catch let error as APIError {
            throw error.answered(by: response)
        } catch {
            throw APIError(.decoding, service: service, response: response, underlying: error)
        }
    }
}

extension ResponseSerializer where Value: Decodable {
    /// JSON, inside the service's envelope where there is one.
    public static var json: Self {
        Self { response, service in
            guard let envelope = service.envelope else { return try service.decode(response) }
            return try service.decode(response, in: envelope)
        }
    }
}

extension ResponseSerializer<String> {
    /// Text: a JSON answer's data where there is an envelope, the body as UTF-8 otherwise.
    public static var text: Self {
        Self { response, service in
            guard response.isJSON, let envelope = service.envelope else { return response.text }
            return try service.decode(response, in: envelope)
        }
    }
}

extension ResponseSerializer<Data> {
    /// The body as it is; a JSON answer whose envelope tells of a failure fails.
    public static var data: Self {
        Self { response, service in
            try service.checkEnvelope(of: response)
            return response.body
        }
    }
}

extension ResponseSerializer<DownloadedFile> {
    /// The file that ``BaseAPIRequest/destination`` names; an answer that went to memory fails.
    public static var file: Self {
        Self { response, service in
            try service.checkEnvelope(of: response)
            guard let url = response.file else {
                let reason = "the answer is in memory: name a file as destination"
                throw APIError(.decoding, service: service, reason: reason)
            }
            return DownloadedFile(url: url)
        }
    }
}

extension ResponseSerializer<Void> {
    /// Nothing; a JSON answer whose envelope tells of a failure fails.
    public static var nothing: Self {
        Self { response, service in
            try service.checkEnvelope(of: response)
        }
    }
}
