import Foundation

/// Encodes parameters, and creates the body of a request.
///
/// `GET`, `HEAD` and `DELETE` encode parameters in the query, other methods in the body that the serializer creates, unless
/// ``placing(_:)`` specifies otherwise. Without parameters (`nil`) and without parts, there is neither a body nor a
/// `Content-Type`, except for a raw or custom body.
///
/// ```swift
/// let removal = RequestSerializer.json.placing(.body)                          // DELETE with a JSON body
/// let search = RequestSerializer.form.encoding(ParamEncoding(arrays: .repeated)) // a=1&a=2
/// ```
public struct RequestSerializer: Sendable {
    enum Format: Sendable {
        case json
        case form
        case multipart
        case raw(HTTPBody, contentType: String)
        case custom(contentType: String, @Sendable (JSONValue) throws -> HTTPBody)
    }

    let format: Format
    private var placement = ParamPlacement.automatic
    /// `nil` for the encoding of the service.
    private(set) var ownEncoding: ParamEncoding?

    private init(_ format: Format) {
        self.format = format
    }

    /// A JSON object, `application/json`; the default.
    public static let json = RequestSerializer(.json)

    /// `application/x-www-form-urlencoded`, by the WHATWG serializer.
    public static let form = RequestSerializer(.form)

    /// `multipart/form-data`: a field for each parameter, then the parts that the request and its param source append.
    public static let multipart = RequestSerializer(.multipart)

    /// This body, unchanged; parameters are encoded in the query.
    public static func raw(_ body: HTTPBody, contentType: String) -> RequestSerializer {
        RequestSerializer(.raw(body, contentType: contentType))
    }

    /// A body that the app creates, such as XML.
    ///
    /// ```swift
    /// let propertyList = RequestSerializer.custom(contentType: "application/x-plist") { params in
    ///     .data(try PropertyListEncoder().encode(params))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - contentType: The media type of the body; not sent with ``HTTPBody/empty``.
    ///   - body: Returns the body. Called on any thread, for each attempt of a request with a body, also after a relogin and
    ///     before a retry. Receives the parameters of the service and the load, without those in the path and in the query, as an
    ///     object that the service's encoder has created; an empty object if there are none. If the closure throws an
    ///     ``APIError``, the load fails with it; after any other error, it fails with `invalidRequest`.
    /// - Returns: The serializer.
    public static func custom(
        contentType: String,
        body: @escaping @Sendable (JSONValue) throws -> HTTPBody
    ) -> RequestSerializer {
        RequestSerializer(.custom(contentType: contentType, body))
    }

    /// This serializer with another placement of the parameters; ``ParamPlacement/automatic`` by default.
    public func placing(_ placement: ParamPlacement) -> RequestSerializer {
        var changed = self
        changed.placement = placement
        return changed
    }

    /// This serializer with its own encoding of names, Booleans, spaces and `nil`; ``APIService/paramEncoding`` by
    /// default.
    public func encoding(_ encoding: ParamEncoding) -> RequestSerializer {
        var changed = self
        changed.ownEncoding = encoding
        return changed
    }
}

extension RequestSerializer {
    var isMultipart: Bool {
        if case .multipart = format { true } else { false }
    }

    func allowsBody(of method: HTTPMethod) -> Bool {
        placement(for: method) != .query || !method.encodesParamsInQuery
    }

    /// Never `automatic`.
    func placement(for method: HTTPMethod) -> ParamPlacement {
        guard placement == .automatic else { return placement }
        if case .raw = format { return .query }
        return method.encodesParamsInQuery ? .query : .body
    }

    func body(
        of params: MergedParams,
        form: MultipartForm?,
        method: HTTPMethod
    ) throws(APIError) -> (HTTPBody, contentType: String?) {
        guard method != .head || params.isEmpty else {
            throw APIError(.invalidRequest, reason: "the parameters are placed in the body, and HEAD has none")
        }
        switch format {
        case .raw(let body, let contentType):
            guard params.isEmpty else {
                throw APIError(.invalidRequest, reason: "the parameters are placed in the body, which is raw")
            }
            return (body, contentType)
        case .custom(let contentType, let make):
            guard allowsBody(of: method) else { return (.empty, nil) }
            if case .split = placement(for: method), params.isEmpty { return (.empty, nil) }
            let tree = try params.tree()
            let reason = "the request serializer failed"
            let body = try APIError.mapped(to: .invalidRequest, reason: reason) { try make(tree) }
            return (body, body.isEmpty ? nil : contentType)
        case _ where params.isEmpty && form?.parts.isEmpty != false:
            return (.empty, nil)
        case .json:
            return (.data(try params.json()), "application/json")
        case .form:
            return (.data(Data(try params.formText().utf8)), "application/x-www-form-urlencoded")
        case .multipart:
            let form = form ?? MultipartForm()
            return (try form.body(fields: params.pairs()), "multipart/form-data; boundary=\(form.boundary)")
        }
    }
}

/// Where the parameters of a load are encoded; see ``RequestSerializer/placing(_:)``.
///
/// A parameter that replaces a `{name}` in the path is sent in neither the query nor the body.
public enum ParamPlacement: Sendable, Hashable {
    /// In the query of `GET`, `HEAD` and `DELETE` and beside a raw body, otherwise in the body; the default.
    case automatic
    /// In the query. The body is raw, consists of the parts of an upload, or there is none.
    case query
    /// In the body, for example of a `DELETE`.
    ///
    /// A body of a `GET` has no defined meaning (RFC 9110 section 9.3.1), and URLSession refuses it. A load with parameters
    /// whose method is `HEAD` or whose body is raw fails with `invalidRequest`.
    case body
    /// The parameters with these names in the query, and the others in the body. Without other parameters, there is no body.
    case split(query: Set<String>)
    /// All parameters in the query, and again in the body.
    case queryAndBody
}

extension ParamPlacement {
    /// `nil` for all names.
    var queryNames: Set<String>? {
        switch self {
        case .automatic, .query, .queryAndBody: nil
        case .body: []
        case .split(let names): names
        }
    }
}
