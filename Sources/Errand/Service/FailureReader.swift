/// Reads the code and the message of a failure from a response's body, in any format.
///
/// Set it as ``APIService/failureReader``. Use ``problemDetails``, the default, ``djangoREST``,
/// ``keys(code:message:readsSuccess:)``, or a reader of your own; combine several with ``or(_:)``. The failure that a reader
/// returns takes precedence over the code and message of an ``Envelope``.
///
/// ```swift
/// service.failureReader = .djangoREST
/// ```
public struct FailureReader: Sendable {
    /// Passes a 2xx response only to readers that read those, or to all.
    private let read: @Sendable (APIResponse, _ isForAll: Bool) -> ServerFailure?

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - readsSuccess: Whether responses with a 2xx status are read as well, for a server that reports failures with 200. If
    ///     `read` returns a failure for a 2xx response, the load fails with `server`. False by default.
    ///   - read: Returns the failure in a response, or `nil` if it recognizes none; throwing an error has the same effect as
    ///     `nil`. Called off the main actor, once for each response whose status is not accepted, with `readsSuccess` also for
    ///     2xx responses, and with ``APIService/isLoginExpired`` for all but 2xx.
    public init(readsSuccess: Bool = false, _ read: @escaping @Sendable (APIResponse) throws -> ServerFailure?) {
        self.init(reading: { response, isForAll in
            isForAll || readsSuccess || !response.isSuccess ? try? read(response) : nil
        })
    }

    private init(reading read: @escaping @Sendable (APIResponse, _ isForAll: Bool) -> ServerFailure?) {
        self.read = read
    }

    /// Returns the failure in `response`, whatever its status; `nil` if there is none that this reader recognizes.
    ///
    /// Use this in a reader that builds on this one, and in tests. A service calls a reader for a 2xx response only if the reader
    /// reads such responses.
    public func failure(in response: APIResponse) -> ServerFailure? { read(response, true) }

    func refusal(in response: APIResponse) -> ServerFailure? { read(response, false) }

    /// Returns a reader that uses `other` if this one finds nothing.
    ///
    /// Whether 2xx responses are read remains a setting of each of the two readers.
    public func or(_ other: FailureReader) -> FailureReader {
        FailureReader(reading: { read($0, $1) ?? other.read($0, $1) })
    }

    /// Never finds an expired login.
    var ofLoginRequest: FailureReader {
        FailureReader(reading: { response, isForAll in
            var failure = read(response, isForAll)
            if failure?.type == .loginExpired { failure?.type = nil }
            return failure
        })
    }
}

extension FailureReader {
    /// Problem details (RFC 9457): `detail`, or else `title`, is the message, and `type` is the code unless it is `about:blank`.
    ///
    /// Reads only `application/problem+json`. The messages of fields are read from the member `errors`, which is an object, or an
    /// array of objects with `detail` and `pointer`.
    public static let problemDetails = FailureReader { response in
        guard response.headers.mediaType == "application/problem+json" else { return nil }
        let problem = try JSONValue(damaged: response.body)
        let code = problem["type"]?.string
        let failure = ServerFailure(
            code: code == "about:blank" ? nil : ServerCode(json: problem["type"]),
            message: problem["detail"]?.string ?? problem["title"]?.string,
            fieldMessages: FieldMessages(errors: problem["errors"]).byField
        )
        return failure.isEmpty ? nil : failure
    }

    /// Django REST framework: `{"detail":"…"}`, with an optional `code`, and `{"field":["…"]}`.
    ///
    /// For the second format, the message has one line for each text: first those of `non_field_errors`, then those of the fields
    /// as `field: text`, sorted by the name of the field.
    public static let djangoREST = FailureReader { response in
        let body = try JSONValue(damaged: response.body)
        if let detail = body["detail"]?.string {
            return ServerFailure(code: ServerCode(json: body["code"]), message: detail)
        }
        let messages = FieldMessages(body)
        return messages.byField.isEmpty ? nil : ServerFailure(message: messages.text, fieldMessages: messages.byField)
    }

    /// JSON with a code and a message at paths such as `error.message` or `errors.0.message`; a member of the outermost object
    /// whose name is the whole path comes first.
    ///
    /// - Parameters:
    ///   - code: The path of the code; none by default.
    ///   - message: The path of the message.
    ///   - readsSuccess: Whether responses with a 2xx status are read as well, for a server that reports failures with 200, such
    ///     as a GraphQL server. A success must then have no value at these paths. False by default.
    /// - Returns: A reader that finds a failure if the body has a value at one of the paths.
    public static func keys(code: String? = nil, message: String, readsSuccess: Bool = false) -> FailureReader {
        FailureReader(readsSuccess: readsSuccess) { response in
            let body = try JSONValue(damaged: response.body)
            let failure = ServerFailure(
                code: code.flatMap { ServerCode(in: body, at: $0) },
                message: body.member(at: message)?.string
            )
            return failure.isEmpty ? nil : failure
        }
    }
}

extension JSONValue {
    /// The member with this name, or else the value at this path.
    func member(at path: String) -> JSONValue? {
        if let member = self[path] { return member }
        return path.split(separator: ".").reduce(self) { value, name in
            value?[String(name)] ?? Int(name).flatMap { value?[$0] }
        }
    }
}

/// The messages of a server for the fields of a form, from JSON such as `{"name":["…"],"items":[{"price":["…"]}]}`.
struct FieldMessages {
    /// As Django REST framework names messages about the whole form.
    private static let wholeForm = "non_field_errors"
    /// The messages after these, and those with a longer path, are ignored: a response could make them fill the memory.
    private static let (maxMessages, maxPathBytes) = (1_000, 256)

    /// By path; those of a text or a list without a name are under `non_field_errors`.
    private(set) var byField: [String: [String]] = [:]
    private var count = 0

    init(_ json: JSONValue) { add(json, at: "") }

    /// From problem details: an object, or an array as in RFC 9457 section 3, whose elements have a `detail` and a `pointer`.
    init(errors json: JSONValue?) {
        if case .object? = json { add(json ?? .null, at: "") }
        guard case .array(let errors)? = json else { return }
        for error in errors {
            guard let detail = error["detail"]?.string else { continue }
            let path = (error["pointer"]?.string ?? "").split(separator: "/").drop { $0 == "#" }
            add(.string(detail), at: path.joined(separator: "."))
        }
    }

    /// First the messages of the whole form, then those of the fields by name, each in a line.
    var text: String {
        let fields = byField.keys.filter { $0 != Self.wholeForm }.sorted()
        let lines = fields.flatMap { field in (byField[field] ?? []).map { "\(field): \($0)" } }
        return ((byField[Self.wholeForm] ?? []) + lines).joined(separator: "\n")
    }

    private mutating func add(_ json: JSONValue, at path: String) {
        guard count < Self.maxMessages, path.utf8.count <= Self.maxPathBytes else { return }
        switch json {
        case .string(let text):
            count += 1
            byField[path.isEmpty ? Self.wholeForm : path, default: []].append(text)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                // A list of texts has the messages of one field, and a list of objects those of the elements of one.
                add(element, at: element.string == nil ? Self.path(path, "\(index)") : path)
            }
        case .object(let members):
            for (name, member) in members { add(member, at: Self.path(path, name)) }
        case .null, .bool, .int, .double, .decimal:
            break
        }
    }

    private static func path(_ path: String, _ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }
}
