import Foundation

/// Everything that one load sends, without what the service adds to it.
///
/// Each send builds its request from this value.
struct RequestDraft: Sendable {
    /// What a load adds to the parameters of its screen, for example to request one page of a list.
    struct Addition: Sendable {
        let params: APIParams
        /// Boxed, because most loads have none.
        let link: Boxed<Link>?
    }

    /// A URL from the server, which replaces path and query.
    struct Link: Sendable {
        let url: URL
        /// URLs of the origins that may be requested besides the service's.
        let allowedOrigins: [URL]
    }

    var method: HTTPMethod
    var path: String
    var params: APIParams?
    var link: Boxed<Link>?
    var headers: HTTPHeaders = [:]
    var serializer: RequestSerializer = .json
    var form: MultipartForm?
    var destination: HTTPRequest.Destination = .memory
    var timeout: Duration?
    var redirectPolicy: RedirectPolicy?
    var idempotencyKey: String?

    /// Whether the request may be sent twice.
    var isRepeatable: Bool { method.isIdempotent || idempotencyKey != nil }

    /// Returns the request for `service`, with its common headers and parameters of this moment.
    func request(for service: APIService) throws(APIError) -> HTTPRequest {
        var params = MergedParams(common: service.commonParams(), specific: params, encoder: service.encoder)
        let template = PathTemplate(path)
        let path = try template.filled(from: &params)
        let (body, contentType) = try serializer.body(of: params, form: form, method: method)
        let url = try url(for: service, path: path, isURL: template.isURL, params: params)
        let headers = headers(for: service, contentType: contentType)
        var request = HTTPRequest(method, url, headers: headers, body: body)
        request.destination = destination
        request.timeout = timeout ?? service.timeout
        request.limits = service.limits
        request.redirectPolicy = redirectPolicy ?? service.redirectPolicy
        return request
    }

    /// Adds parameters, which replace others of the same name, and a link.
    mutating func add(_ addition: Addition) {
        params = params?.merging(addition.params) ?? addition.params
        link = addition.link
    }

    /// Returns the service's headers, replaced by the body's type, replaced by the request's headers.
    ///
    /// The type of a multipart body replaces the request's, because it contains the boundary.
    private func headers(for service: APIService, contentType: String?) -> HTTPHeaders {
        var headers = service.commonHeaders()
        headers["Content-Type"] = contentType ?? headers["Content-Type"]
        headers = headers.merging(self.headers)
        if case .multipart = serializer, let contentType { headers["Content-Type"] = contentType }
        if let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        return headers
    }

    private func url(
        for service: APIService,
        path: String,
        isURL: Bool,
        params: MergedParams
    ) throws(APIError) -> URL {
        if let link { return try service.url(following: link.wrappedValue) }
        let query = serializer.encodesParamsInQuery(for: method) ? try params.pairs() : []
        return isURL ? try service.url(absolute: path, query: query) : try service.url(path: path, query: query)
    }
}

extension APIService {
    /// Returns a link from the server if it has the service's origin, or another one that is allowed.
    ///
    /// - Throws: `security`, with both origins and no other part of their URLs.
    fileprivate func url(following link: RequestDraft.Link) throws(APIError) -> URL {
        let url = link.url
        guard ([baseURL] + link.allowedOrigins).contains(where: url.hasSameOrigin) else {
            let reason = "the link to a page leads from \(baseURL.originText) to another origin, \(url.originText)"
            throw APIError(.security, messages: errorMessages, reason: reason)
        }
        return url
    }

    /// Returns the request for a link, without secrets if it is for another origin than the service's.
    ///
    /// - Throws: `security` if the other origin would receive a body.
    func withoutSecrets(_ request: HTTPRequest) throws(APIError) -> HTTPRequest {
        guard !request.url.hasSameOrigin(as: baseURL) else { return request }
        guard request.body.isEmpty else {
            let reason = "the link to a page would send the body to another origin, \(request.url.originText)"
            throw APIError(.security, messages: errorMessages, reason: reason)
        }
        return request.withoutSecretHeaders()
    }

    /// Returns an absolute URL with a query added, resolved by RFC 3986, if it has the service's origin.
    ///
    /// - Throws: `security`, with both origins and no other part of their URLs; `invalidRequest` for a malformed URL.
    fileprivate func url(absolute text: String, query: [FormEncoding.Pair]) throws(APIError) -> URL {
        guard let url = URLReference(text.utf8)?.resolved(against: baseURL) else {
            throw APIError(.invalidRequest, reason: "the path is a malformed URL")
        }
        guard url.hasSameOrigin(as: baseURL) else {
            let reason = "the path is a URL of \(url.originText), and the service's origin is \(baseURL.originText)"
            throw APIError(.security, messages: errorMessages, reason: reason)
        }
        guard !query.isEmpty else { return url }
        let separator = url.absoluteString.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        guard let complete = URL(verbatim: url.absoluteString + separator + FormEncoding.serialize(query)) else {
            throw APIError(.invalidRequest, reason: "the path and its query make no URL")
        }
        return complete
    }
}

/// The parameters of a service and of one load, each encoded either in the path or in the query or body.
struct MergedParams {
    private let params: APIParams?
    private let encoder: JSONEncoder
    private var usedInPath: Set<String> = []

    init(common: APIParams?, specific: APIParams?, encoder: JSONEncoder) {
        params = common.map { common in specific.map(common.merging) ?? common } ?? specific
        self.encoder = encoder
    }

    /// Whether there are no parameters, not even an empty object.
    var isEmpty: Bool { params == nil }

    /// Returns the text of the parameter `name` for the path; the query and the body then omit it.
    mutating func takeForPath(_ name: String) throws(APIError) -> String? {
        usedInPath.insert(name)
        return try params?.tree(with: encoder)[name]?.scalarText
    }

    /// Returns the parameters that are not in the path.
    func pairs() throws(APIError) -> [FormEncoding.Pair] {
        try FormEncoding.pairs(of: rest())
    }

    /// Returns the JSON text of the parameters that are not in the path.
    func json() throws(APIError) -> Data {
        if let params, usedInPath.isEmpty { return try params.json(with: encoder) }
        return try APIParams(rest()).json(with: encoder)
    }

    private func rest() throws(APIError) -> JSONValue {
        guard let params else { return .object([:]) }
        let tree = try params.tree(with: encoder)
        guard !usedInPath.isEmpty, case .object(let members) = tree else { return tree }
        return .object(members.filter { !usedInPath.contains($0.key) })
    }
}
