public import Foundation

/// Decodes a response as a request's ``APIManager/Response``, off the main actor; `automatic` is the default of requests.
public struct ResponseSerializer<Value: Sendable>: Sendable {
    private struct Extras: Sendable {
        let decoder: (any ResponseDecoder)?
        let bodyCheck: BodyCheck?
    }

    let source: BodySource
    let decodedResponses: DecodedResponses
    /// Boxed, because most serializers have none.
    private let extras: Boxed<Extras>?
    /// Writes the server's code and message into the response.
    private let serialize: @Sendable (inout APIResponse, ResponseReader) throws -> Value

    init(
        from source: BodySource,
        decoding responses: DecodedResponses,
        by decoder: (any ResponseDecoder)? = nil,
        checking bodyCheck: BodyCheck? = nil,
        _ serialize: @escaping @Sendable (inout APIResponse, ResponseReader) throws -> Value
    ) {
        self.source = source
        decodedResponses = responses
        let extras = Extras(decoder: decoder, bodyCheck: bodyCheck)
        self.extras = decoder == nil && bodyCheck == nil ? nil : Boxed(wrappedValue: extras)
        self.serialize = serialize
    }

    /// Creates a serializer of a body in memory whose beginning is checked before the rest is received.
    ///
    /// Like ``data``, it fails for an envelope with a failure.
    package init(
        checking bodyCheck: @escaping BodyCheck,
        _ serialize: @escaping @Sendable (APIResponse, APIService) throws -> Value
    ) {
        self.init(from: .memory, decoding: .none, checking: bodyCheck) { response, reader in
            try reader.checkEnvelope(of: &response)
            return try serialize(response, reader.service)
        }
    }

    /// Whether a list has to know how many elements were left out; a closure may use any decoder.
    func skipsElements(by service: APIService) -> Bool {
        guard decoder != nil || decodedResponses != .readable else { return true }
        let custom = decoder ?? service.customDecoder
        let lenient = custom.map { $0 as? LenientDecoder } ?? service.decoder as? LenientDecoder
        return lenient?.skipsBadElements == true
    }

    private var decoder: (any ResponseDecoder)? { extras?.wrappedValue.decoder }
    var bodyCheck: BodyCheck? { extras?.wrappedValue.bodyCheck }

    /// Creates a serializer.
    ///
    /// - Parameter serialize: Called once for each response with an accepted status, off the main actor. An error that is not an
    ///   ``APIError`` becomes the underlying error of a `decoding` failure. ``APIResponse/file`` is still a temporary file: read
    ///   it, but do not store its URL in the value; store ``BaseAPIRequest/destination``.
    public init(_ serialize: @escaping @Sendable (APIResponse, APIService) throws -> Value) {
        self.init(from: .either, decoding: .readable) { try serialize($0, $1.service) }
    }

    /// Returns the value of `response`, whatever its status; for a serializer that builds on this one, and for tests.
    ///
    /// - Throws: `server` or `loginExpired` for the code of an envelope, `decoding`, or what a serializer of the app throws.
    public func value(of response: APIResponse, from service: APIService) throws(APIError) -> Value {
        var response = response
        do throws(APIError) {
            return try value(of: &response, from: service)
        } catch {
            throw error.worded(by: service.errorMessages)
        }
    }

    /// JSON that the decoder of ``decoded(by:)`` does not decode, for example of a gateway, is read by the service's.
    func failure(of response: APIResponse, from service: APIService, accepting statuses: Set<Int>) -> APIError? {
        reader(of: service, for: response).failure(of: response, accepting: statuses)
    }

    /// Returns `nil` if nothing is decoded.
    func decodedData(
        of response: APIResponse,
        from service: APIService,
        accepting statuses: Set<Int>
    ) throws(APIError) -> DecodedData? {
        let reader = reader(of: service, for: response)
        if let failure = reader.failure(of: response, accepting: statuses) { throw failure }
        return try reader.decodedData(of: response, in: decodedResponses)
    }

    /// Another decoder than this serializer's reads JSON of a gateway.
    private func reader(of service: APIService, for response: APIResponse) -> ResponseReader {
        guard let decoder, !response.isJSON || decoder.canDecode(response) else {
            return ResponseReader(service)
        }
        return ResponseReader(service, decoder: decoder)
    }

    /// `response` receives the server's code and message.
    func value(of response: inout APIResponse, from service: APIService) throws(APIError) -> Value {
        do throws(APIError) {
            return try APIError.mapped(to: .decoding) { try serialize(&response, ResponseReader(service)) }
        } catch {
            throw error.withResponse(ifMissing: response)
        }
    }
}

extension ResponseSerializer {
    /// Returns a serializer that transforms the value of this one.
    ///
    /// `transform` is called once for each value, off the main actor; its errors are treated like those of a serializer.
    public func map<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> NewValue
    ) -> ResponseSerializer<NewValue> {
        ResponseSerializer<NewValue>(
            from: source,
            decoding: decodedResponses,
            by: decoder,
            checking: bodyCheck
        ) { [serialize] in
            try transform(serialize(&$0, $1))
        }
    }

    /// Returns a serializer of both values; for example of a body and a value from the headers.
    ///
    /// ```swift
    /// let total = ResponseSerializer { response, _ in Int(response.headers["X-Total"] ?? "") }
    /// let goods = ResponseSerializer<[Goods]>.json.combined(with: total)
    /// ```
    public func combined<Other: Sendable>(with other: ResponseSerializer<Other>) -> ResponseSerializer<(Value, Other)> {
        let source = source == .either ? other.source : source
        let responses = decodedResponses.union(other.decodedResponses)
        return ResponseSerializer<(Value, Other)>(
            from: source,
            decoding: responses,
            by: decoder ?? other.decoder,
            checking: bodyCheck ?? other.bodyCheck
        ) { [serialize] in
            (try serialize(&$0, $1), try other.serialize(&$0, $1))
        }
    }

    /// Returns a serializer that chooses another serializer for each response, for instance by its status.
    ///
    /// `choose` is called once for each response, off the main actor. If it returns a serializer that reads a file, the request
    /// needs a ``BaseAPIRequest/destination``.
    public static func choosing(_ choose: @escaping @Sendable (APIResponse) throws -> ResponseSerializer) -> Self {
        Self(from: .either, decoding: .readable) { try choose($0).serialize(&$0, $1) }
    }

    /// Returns a serializer with the same value for every response, for ``choosing(_:)``.
    public static func constant(_ value: Value) -> Self {
        Self(from: .either, decoding: .none) { _, _ in value }
    }
}

extension ResponseSerializer {
    /// A serializer that reads a file has a new one in the temporary folder, if `destination` is memory.
    func destination(for destination: HTTPRequest.Destination) throws(APIError) -> HTTPRequest.Destination {
        switch (source, destination) {
        case (.file, .memory):
            return .file(FilePlace.temporaryFile())
        case (.memory, .file), (.memory, .folder):
            let reason = "the body is written to a file, from which \(Value.self) is not decoded: use DownloadedFile"
            throw APIError(.invalidRequest, reason: reason)
        default:
            return destination
        }
    }
}

extension ResponseSerializer where Value: Decodable {
    /// The serializer for the type of the value.
    ///
    /// The type is examined when a load begins, so this also works in generic request classes.
    ///
    /// `String` is ``text``, `Data` is ``data``, and any other type (``JSONValue`` for JSON of unknown shape) is ``json``. `Data?`
    /// is ``data`` as well, and `String?` ``text`` if the body is not JSON; `nil` without a body and for another status than 2xx.
    public static var automatic: Self {
        let known: Any? =
            switch Value.self {
            case is String.Type: ResponseSerializer<String>.text
            case is Data.Type: ResponseSerializer<Data>.data
            case is String?.Type: ResponseSerializer<String?>.optional(.text, readsJSON: false)
            case is Data?.Type: ResponseSerializer<Data?>.optional(.data, readsJSON: true)
            default: nil
            }
        return known as? Self ?? json
    }

    /// What `serializer` does not read is `nil`, or JSON.
    private static func optional<Wrapped>(
        _ serializer: ResponseSerializer<Wrapped>,
        readsJSON: Bool
    ) -> Self where Value == Wrapped? {
        Self(from: .memory, decoding: .successes) { response, reader in
            let isRead = response.isSuccess && !response.body.isEmpty && (readsJSON || !reader.canDecode(response))
            return try isRead ? serializer.serialize(&response, reader) : json.serialize(&response, reader)
        }
    }
}

extension ResponseSerializer<DownloadedFile> {
    /// The serializer for the type: ``file``.
    public static var automatic: Self { .file }
}

extension ResponseSerializer<Void> {
    /// The serializer for the type: ``nothing``.
    public static var automatic: Self { .nothing }
}

extension ResponseSerializer {
    /// Unavailable, with the message of the compiler for a type that has no serializer.
    ///
    /// The compiler chooses it where no other one fits: for a type that is not `Decodable`, and for one whose conformance is
    /// isolated to the main actor (SE-0470). A class that is generic over any type has its serializer as an argument.
    @available(
        *,
        unavailable,
        message: "Response must be Decodable off the main actor: declare a 'nonisolated struct' or a responseSerializer"
    )
    public static var automatic: Self {
        Self { _, service in throw APIError(.decoding) }
    }
}

extension ResponseSerializer where Value: Decodable {
    /// JSON, or the format of ``APIService/customDecoder``, inside the service's envelope if there is one.
    public static var json: Self {
        Self(from: .memory, decoding: .of(Value.self)) { try $1.value(of: &$0, as: Value.self) }
    }

    /// Returns a serializer that uses `decoder` instead of the service's decoder, inside the service's envelope if there is one.
    ///
    /// The decoder also reads the code and message of a response whose status is refused.
    ///
    /// ```swift
    /// let responseSerializer = ResponseSerializer<Settings>.decoded(by: PropertyListDecoder())
    /// ```
    public static func decoded(by decoder: any ResponseDecoder) -> Self {
        Self(from: .memory, decoding: .of(Value.self), by: decoder) { response, reader in
            try ResponseReader(reader.service, decoder: decoder).value(of: &response, as: Value.self)
        }
    }
}

extension ResponseSerializer<String> {
    /// Text: the string under the data key of a response with an envelope, or else the whole body as UTF-8.
    ///
    /// An envelope with a failure fails the load whatever its `Content-Type`; with a ``ResponseDecoder``, only if it can decode it.
    public static var text: Self {
        Self(from: .memory, decoding: .enveloped) { response, reader in
            guard reader.hasEnvelope(response) else {
                try reader.checkEnvelope(of: &response)
                return response.text
            }
            return try reader.value(of: &response, as: String.self)
        }
    }
}

extension ResponseSerializer<Data> {
    /// The body, unchanged; a response whose envelope contains a failure fails, whatever its `Content-Type`; with a
    /// ``ResponseDecoder``, only if it can decode it.
    public static var data: Self {
        Self(from: .memory, decoding: .none) { response, reader in
            try reader.checkEnvelope(of: &response)
            return response.body
        }
    }
}

extension ResponseSerializer<Void> {
    /// Nothing; a response whose envelope contains a failure fails, whatever its `Content-Type`; with a
    /// ``ResponseDecoder``, only if it can decode it.
    ///
    /// Every other response is a success, even without an envelope, but for an HTML page in the place of one, such as that of a
    /// firewall or a captive portal.
    public static var nothing: Self {
        Self(from: .either, decoding: .none) { response, reader in
            try reader.checkNothing(of: &response)
        }
    }
}

extension ResponseSerializer<Void> {
    /// Nothing of a stream; a response in its place fails, with the failure in its envelope if there is one.
    static var eventStream: Self {
        Self(from: .either, decoding: .none) { response, reader in
            guard !response.isStreamed, response.status == 200 else { return }
            try reader.checkEnvelope(of: &response)
            throw APIError(.decoding, reason: "the response is no event stream: it is JSON")
        }
    }
}

/// Checks the beginning of a body while it arrives.
///
/// Receives all that has arrived, and returns how many bytes the next call needs; `nil` when there is nothing more to check.
package typealias BodyCheck = @Sendable (UnsafeRawBufferPointer) throws(APIError) -> Int?
