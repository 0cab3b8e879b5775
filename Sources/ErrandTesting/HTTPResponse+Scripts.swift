public import Errand
public import Foundation

extension HTTPResponse {
    /// Returns a response whose body is JSON text; 200 by default.
    ///
    /// A `Content-Type` in `headers` replaces the default one, `application/json`.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPResponse {
        let type: HTTPHeaders = ["Content-Type": "application/json"]
        return HTTPResponse(status: status, headers: type.merging(headers), body: Data(text.utf8))
    }

    /// Returns a response whose body is a value as JSON, for a service or a request without an envelope; 200 by default.
    ///
    /// A `String` is used as JSON text, as in ``json(_:status:headers:)``; to send a JSON string, pass a `JSONValue`.
    ///
    /// - Parameters:
    ///   - value: The value that the request's `Response` is decoded from.
    ///   - status: The HTTP status.
    ///   - headers: The header lines; a `Content-Type` replaces the default one, `application/json`.
    ///   - encoder: Encodes the value; the default writes dates in ISO 8601, as a service reads them.
    /// - Returns: The response.
    /// - Throws: The error of the encoder.
    public static func json(
        _ value: some Encodable,
        status: Int = 200,
        headers: HTTPHeaders = [:],
        encoder: JSONEncoder? = nil
    ) throws -> HTTPResponse {
        .json(try text(of: value, by: encoder), status: status, headers: headers)
    }

    private static func text(of value: some Encodable, by encoder: JSONEncoder?) throws -> String {
        String(decoding: try (encoder ?? .iso8601).encode(value), as: UTF8.self)
    }

    /// Returns a response with a value as JSON in an envelope, the default one unless another is given.
    ///
    /// `.envelope(code: 5001, message: "sold out")` is a failure.
    ///
    /// - Parameters:
    ///   - value: The value that the request's `Response` is decoded from; `null` by default.
    ///   - code: The business code, a number, a string or a Boolean; the shortest code of success by default.
    ///   - message: The message for the user; `ok` by default.
    ///   - envelope: The keys, as in ``APIService/envelope``. Under its `successKey` is whether the code is one of success.
    ///     Without a `dataKey`, the members of the value, which is an object then, are beside the code.
    ///   - status: The HTTP status.
    ///   - headers: The header lines; a `Content-Type` replaces the default one, `application/json`.
    ///   - encoder: Encodes the value; the default writes dates in ISO 8601, as a service reads them.
    /// - Returns: The response.
    /// - Throws: The error of the encoder.
    public static func envelope(
        _ value: some Encodable = JSONValue.null,
        code: ServerCode? = nil,
        message: String = "ok",
        in envelope: Envelope = Envelope(),
        status: Int = 200,
        headers: HTTPHeaders = [:],
        encoder: JSONEncoder? = nil
    ) throws -> HTTPResponse {
        precondition(code == nil || envelope.codeKey != nil || envelope.successKey != nil, "the envelope has no code")
        let success = envelope.successCodes.min { ($0.text.count, $0.text) < ($1.text.count, $1.text) }
        let isSuccess = code.map(envelope.successCodes.contains) ?? true
        var members: [(path: ArraySlice<Substring>, json: String)] = []
        func add(_ key: String?, _ json: String) {
            if let key { members.append((key.split(separator: ".")[...], json)) }
        }
        if let code = code ?? success { add(envelope.codeKey, try text(of: code, by: encoder)) }
        add(envelope.successKey, "\(isSuccess)")
        add(envelope.messageKey, try text(of: message, by: encoder))
        let content = try text(of: value, by: encoder)
        add(envelope.dataKey, content)
        let isObject = content.hasPrefix("{")
        precondition(
            members.isEmpty || envelope.dataKey != nil || isObject || content == "null",
            "without a dataKey, the value is an object"
        )
        let object = members.isEmpty ? content : text(of: members)
        let isBeside = !members.isEmpty && envelope.dataKey == nil && isObject && content != "{}"
        let body = isBeside ? object.dropLast() + "," + content.dropFirst() : object
        return .json(body, status: status, headers: headers)
    }

    /// Returns an object with the members, in the order of their first ones; those of a longer path are in an object of their own.
    private static func text(of members: [(path: ArraySlice<Substring>, json: String)]) -> String {
        var names: [Substring] = []
        for name in members.compactMap(\.path.first) where !names.contains(name) { names.append(name) }
        let texts = names.map { name in
            let own = members.filter { $0.path.first == name }
            let value = own.first { $0.path.count == 1 }?.json ?? text(of: own.map { ($0.path.dropFirst(), $0.json) })
            return "\"\(name)\":\(value)"
        }
        return "{\(texts.joined(separator: ","))}"
    }

    /// Returns a response whose body is the elements of an asynchronous sequence, passed on as they come; 200 by default.
    ///
    /// The exchange lasts until the sequence ends. An element restarts the timeout of the request, which does not run while
    /// the receiver of the stream has no room. An error of the sequence fails the exchange like that of a script.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - headers: The header lines.
    ///   - makeSequence: Returns the sequence; called once, when the response is sent.
    /// - Returns: The response.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        status: Int = 200,
        headers: HTTPHeaders = [:],
        _ makeSequence: @escaping @Sendable () throws -> Chunks
    ) -> HTTPResponse where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        var response = HTTPResponse(status: status, headers: headers)
        response.bodyStream = HTTPBody.Stream(makeSequence)
        return response
    }

    /// Returns a response with this status and without a body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers)
    }
}
