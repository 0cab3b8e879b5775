import Foundation

/// Reads the responses to the loads of a service: their failures, expired logins among them, or their values.
struct ResponseReader: Sendable {
    let service: APIService
    /// Instead of the service's `JSONDecoder`.
    let custom: (any ResponseDecoder)?
    private let trace: LoadTrace?

    /// `decoder` precedes that of the service.
    init(_ service: APIService, decoder: (any ResponseDecoder)? = nil, trace: LoadTrace? = nil) {
        (self.service, custom, self.trace) = (service, decoder ?? service.customDecoder, trace)
    }

    // MARK: A load

    // Not inlined: that increases the memory of each load in progress.
    @inline(never) func read<Value>(
        _ response: APIResponse,
        by serializer: ResponseSerializer<Value>,
        accepting statuses: Set<Int>
    ) throws(APIError) -> LoadedValue<Value> {
        let response = try checked(response, by: serializer, accepting: statuses)
        if let failure = serializer.failure(of: response, from: service, accepting: statuses) { throw failure }
        return try value(of: response, by: serializer)
    }

    func read<Value>(
        _ response: APIResponse,
        by serializer: ResponseSerializer<Value>,
        accepting statuses: Set<Int>,
        adaptedIn context: AdapterContext
    ) async throws(APIError) -> LoadedValue<Value> {
        var response = try checked(response, by: serializer, accepting: statuses)
        guard let part = try serializer.decodedData(of: response, from: service, accepting: statuses) else {
            return try value(of: response, by: serializer)
        }
        let data = try await service.adapt(part.data, of: response, in: context)
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        guard data != part.data else { return try value(of: response, by: serializer) }
        do throws(APIError) {
            guard let body = part.body(with: data) else { throw APIError(.decoding, response: response) }
            response.body = body
            return try value(of: response, by: serializer)
        } catch {
            throw error.withReason(forAdapted: data)
        }
    }

    private func value<Value>(
        of response: APIResponse,
        by serializer: ResponseSerializer<Value>
    ) throws(APIError) -> LoadedValue<Value> {
        var response = response
        let isObserved = trace?.observes(.everything) == true
        guard isObserved || serializer.skipsElements(by: service) else {
            let value = try serializer.value(of: &response, from: service)
            return LoadedValue(value: value, response: response)
        }
        let report = DecodingReport()
        let value = try DecodingReport.$current.withValue(report) {
            Result { () throws(APIError) in try serializer.value(of: &response, from: service) }
        }.get()
        if isObserved, let event = report.event { trace?.emit(event) }
        return LoadedValue(value: value, response: response.withSkipped(report.skippedElements))
    }

    /// Throws the failure in the file of a response.
    func checked<Value>(
        _ response: APIResponse,
        by serializer: ResponseSerializer<Value>,
        accepting statuses: Set<Int>
    ) throws(APIError) -> APIResponse {
        guard let refusal = response.shortJSON ?? response.refusalWithoutFile else { return response }
        return response.withStatement(of: try checkedBody(of: refusal, by: serializer, accepting: statuses))
    }

    /// Throws the failure in the body of a response that is in a file, or is to be stored in one.
    func checkedBody<Value>(
        of response: APIResponse,
        by serializer: ResponseSerializer<Value>,
        accepting statuses: Set<Int>
    ) throws(APIError) -> APIResponse {
        var response = response
        if let failure = serializer.failure(of: response, from: service, accepting: statuses) { throw failure }
        try checkEnvelope(of: &response)
        return response
    }

    // MARK: Failures and values

    /// For a status that is neither 2xx nor in `statuses`, for a 2xx in which ``failureReader`` finds a failure, and for an expired
    /// login by ``isLoginExpired``.
    func failure(of response: APIResponse, accepting statuses: Set<Int> = []) -> APIError? {
        guard !response.isSuccess else {
            // The body of a file has been read if it is short JSON.
            guard response.file == nil else { return nil }
            return service.failureReader?.refusal(in: response).map { found in
                error(.server, for: completed(found, by: response), in: response)
            }
        }
        guard statuses.contains(response.status) else { return error(.http, for: refusal(in: response), in: response) }
        guard let isLoginExpired = service.isLoginExpired, response.file == nil else { return nil }
        let refusal = refusal(in: response)
        guard isLoginExpired(response.withStatement(refusal)) == true else { return nil }
        return APIError(.loginExpired, failure: refusal, response: response)
    }

    private func refusal(in response: APIResponse) -> ServerFailure {
        completed(service.failureReader?.refusal(in: response) ?? ServerFailure(), by: response)
    }

    /// What the app's reader does not find is read in the envelope.
    private func completed(_ failure: ServerFailure, by response: APIResponse) -> ServerFailure {
        guard failure.code == nil, let head = service.envelope.flatMap({ try? head(of: response, in: $0) }),
            // The reader has found a failure where the envelope has none.
            head.isSuccess != true || !response.isSuccess
        else { return failure }
        var known = failure
        (known.code, known.message) = (head.statement.code, failure.message ?? head.statement.message)
        return known
    }

    /// Returns the value under the envelope's data key, or the whole if there is no envelope.
    ///
    /// An optional is `nil` if the status is not 2xx. `response` receives the code and message of the envelope.
    func value<Value: Decodable>(of response: inout APIResponse, as type: Value.Type) throws -> Value {
        let isRefusal = !response.isSuccess && Value.self is any OptionalValue.Type
        guard hasContent(response), !isRefusal else { return try valueOfNothing() }
        guard let envelope = service.envelope, !envelope.isWholeBody else {
            return try whole(response)
        }
        switch try content(of: response, in: envelope) as EnvelopeContent<Value> {
        case .success(let value, let statement):
            response = response.withStatement(statement)
            return value
        case .successWithoutData(let error, let statement):
            response = response.withStatement(statement)
            return try valueWithoutData(in: envelope, error: error)
        case .failure(let statement): throw error(.server, for: statement, in: response)
        case .notEnveloped(let error):
            let remedy = "a service without one has the `envelope` nil, and a request `.wholeBody`"
            let reason = "the response is not in the service's envelope (\(error.place)); \(remedy)"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
    }

    /// A JSON text is more than blanks, which some servers send where there is nothing to send.
    private func hasContent(_ response: APIResponse) -> Bool {
        custom == nil ? !response.body.allSatisfy(\.isJSONBlank) : !response.body.isEmpty
    }

    private func whole<Value: Decodable>(_ response: APIResponse) throws -> Value {
        try decode(response) {
            try $0.singleValueContainer().decode(Value.self)
        } orBy: {
            try $0.decode(Value.self, from: response.body)
        }
    }

    func content<Value: Decodable>(of response: APIResponse, in envelope: Envelope) throws -> EnvelopeContent<Value> {
        try decode(response) {
            try EnvelopeContent<Value>(from: $0, configuration: envelope)
        } orBy: {
            try $0.decode(response.body, in: envelope)
        }
    }

    func head(of response: APIResponse, in envelope: Envelope) throws -> EnvelopeHead {
        guard let custom else {
            return try service.decoder.decode(EnvelopeHead.self, from: response.body, configuration: envelope)
        }
        return try custom.decode(response.body, in: envelope)
    }

    private func decode<Value>(
        _ response: APIResponse,
        with read: (any Decoder) throws -> Value,
        orBy readBody: (any ResponseDecoder) throws -> Value
    ) throws -> Value {
        if let custom {
            do {
                return try readBody(custom)
            } catch  where !custom.canDecode(response) {
                let reason = "the response is not in the format of \(type(of: custom)) (\(response.typeForReason))"
                throw APIError(.decoding, reason: reason, underlying: error)
            }
        }
        var isJSON = false
        do {
            return try JSONDocument.decode(response.body, with: service.decoder) {
                isJSON = true
                return try read($0)
            }
        } catch let error as DecodingError where !isJSON {
            throw APIError(.decoding, reason: response.notJSONReason, underlying: error)
        }
    }

    /// The value of `null`, if the type has one; in the place of an envelope, only that of a type which needs no data.
    private func valueOfNothing<Value: Decodable>() throws -> Value {
        do {
            guard !hasEnvelopes || needsNoData(Value.self) else {
                let context = DecodingError.Context(codingPath: [], debugDescription: "there is no envelope")
                throw DecodingError.valueNotFound(Value.self, context)
            }
            return try decodeNull()
        } catch let error as DecodingError {
            let reason = "the response has no content to decode \(Value.self) from: use an optional type, or Void"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
    }

    private func valueWithoutData<Value: Decodable>(in envelope: Envelope, error: DecodingError) throws -> Value {
        guard needsNoData(Value.self) else {
            let reason = "the envelope has no \(envelope.dataKey ?? "data") to decode \(Value.self) from"
            throw APIError(.decoding, reason: reason, underlying: error)
        }
        return try decodeNull()
    }

    /// An optional, which is `nil`, and a type of size 0.
    private func needsNoData<Value>(_ type: Value.Type) -> Bool {
        type is any OptionalValue.Type || MemoryLayout<Value>.size == 0
    }

    private func decodeNull<Value: Decodable>() throws -> Value {
        try service.decoder.decode(Value.self, from: Data("null".utf8))
    }

    private var hasEnvelopes: Bool { service.envelope?.isWholeBody == false }
    func canDecode(_ response: APIResponse) -> Bool { custom?.canDecode(response) ?? response.isJSON }

    /// Whether there is an envelope around a text: in any JSON, and in an object of another `Content-Type` that has its code.
    func hasEnvelope(_ response: APIResponse) -> Bool {
        guard !response.body.isEmpty, let envelope = service.envelope, !envelope.isWholeBody else { return false }
        guard !canDecode(response) else { return true }
        guard custom == nil, envelope.decisiveKey != nil, envelope.dataKey != nil, response.isSuccess,
            response.beginsLikeObject,
            let head = try? head(of: response, in: envelope)
        else { return false }
        return head.isSuccess != nil
    }

    /// Nothing is needed of a response but that it comes from the service: a page does not, even if its status is 200.
    func checkNothing(of response: inout APIResponse) throws(APIError) {
        try checkEnvelope(of: &response)
        guard hasEnvelopes, response.isSuccess, response.isHTMLPage else { return }
        throw APIError(.decoding, reason: response.notJSONReason, response: response)
    }

    /// `response` receives the code and message of the envelope.
    ///
    /// An object is read whatever its `Content-Type`, because servers send JSON as `text/html` as well.
    func checkEnvelope(of response: inout APIResponse) throws(APIError) {
        guard let envelope = service.envelope, !envelope.isWholeBody, response.isSuccess else { return }
        guard canDecode(response) || custom == nil && response.beginsLikeObject else { return }
        guard let head = try? head(of: response, in: envelope), let isSuccess = head.isSuccess else { return }
        guard isSuccess else { throw error(.server, for: head.statement, in: response) }
        response = response.withStatement(head.statement)
    }

    private func error(_ type: APIErrorType, for failure: ServerFailure, in response: APIResponse) -> APIError {
        APIError(service.errorType(of: failure, as: type, in: response), failure: failure, response: response)
    }
}

/// A decoded response and the raw one.
struct LoadedValue<Value: Sendable>: Sendable {
    let value: Value
    let response: APIResponse
}

extension HTTPHeaders {
    /// Whether the body is so short that it may be an envelope with a failure, in the place of a file, of whatever type of text.
    var mayBeOfFailure: Bool {
        guard isJSON || mediaType?.hasPrefix("text/") != false, self["Content-Encoding"] == nil else { return false }
        return self["Content-Length"].flatMap { Int($0) }.map { $0 <= 16_384 } == true
    }
}

extension APIResponse {
    private static let longestEnvelope = 1 << 20

    /// An object of another `Content-Type` than JSON may be an envelope with a failure.
    fileprivate var shortJSON: APIResponse? {
        // The file of a 304 is that of an earlier response.
        guard let file, status != 304, let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize,
            size <= Self.longestEnvelope, let body = try? Data(contentsOf: file)
        else { return nil }
        let response = withContent(body: body)
        return isJSON || response.beginsLikeObject ? response : nil
    }

    fileprivate var refusalWithoutFile: APIResponse? { file == nil || isSuccess ? nil : withoutFile }
}

// Which refusals mean that the login has expired.

extension APIService {
    /// Returns `type` where neither the app nor the failure has another one.
    func errorType(of failure: ServerFailure, as type: APIErrorType, in response: APIResponse) -> APIErrorType {
        let ownType = failure.type == .cancelled ? nil : failure.type
        return switch isLoginExpired?(response.withStatement(failure)) {
        case true?: .loginExpired
        case false?: ownType == .loginExpired ? type : ownType ?? type
        case nil: ownType ?? (isExpiry(failure, type, in: response) ? .loginExpired : type)
        }
    }

    private func isExpiry(_ failure: ServerFailure, _ type: APIErrorType, in response: APIResponse) -> Bool {
        // Another origin, to which a redirect has led, knows nothing of the login.
        let isRedirected = response.redirects.first.map { !response.url.hasSameOrigin(as: $0) } ?? false
        if type == .http, loginExpiredStatuses.contains(response.status), !isRedirected { return true }
        return failure.code.map { envelope?.loginExpiredCodes.contains($0) == true } == true
    }
}

/// An optional, whatever it wraps.
protocol OptionalValue {}

extension Optional: OptionalValue {}

extension APIResponse {
    /// Describes a response that should be JSON and is not, for an error.
    ///
    /// Quotes only the media types and markup of the lists below, because other text may contain secrets.
    var notJSONReason: String {
        let type = typeForReason
        guard let markup = Self.markup.first(where: begins) else { return "the response is malformed JSON (\(type))" }
        return "the response is not JSON (\(type), begins with \(markup))"
    }

    /// Only a type of the list below.
    var typeForReason: String {
        guard let type = headers.mediaType else { return "no Content-Type" }
        return Self.mediaTypes.contains(type) ? type : "another Content-Type"
    }

    private func begins(with markup: String) -> Bool {
        String(decoding: start.prefix(markup.utf8.count), as: UTF8.self).lowercased() == markup.lowercased()
    }

    /// Without spaces and a byte order mark of UTF-8, UTF-16 or UTF-32.
    private var start: Data { body.prefix(256).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF, 0xFE, 0xFF].contains($0) } }
    var isHTMLPage: Bool { headers.mediaType == "text/html" && start.first == UInt8(ascii: "<") }
    var beginsLikeObject: Bool { start.first == UInt8(ascii: "{") }
    var beginsLikeContainer: Bool { beginsLikeObject || start.first == UInt8(ascii: "[") }

    // A text is listed before its prefixes.
    private static let markup = [
        "<!DOCTYPE html", "<!DOCTYPE", "<html", "<head", "<body", "<?xml", "<rss", "<feed", "<svg", "<soap:Envelope",
        "<",
    ]

    private static let mediaTypes: Set = [
        "text/html", "text/plain", "text/xml", "text/css", "text/csv", "text/javascript", "text/event-stream",
        "application/json", "application/problem+json", "application/vnd.api+json", "application/xml",
        "application/xhtml+xml", "application/soap+xml", "application/problem+xml", "application/rss+xml",
        "application/atom+xml", "application/javascript", "application/octet-stream", "application/pdf",
        "application/zip", "application/gzip", "application/x-www-form-urlencoded", "application/x-protobuf",
        "multipart/form-data", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp",
    ]
}
