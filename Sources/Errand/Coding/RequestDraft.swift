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

    /// What a few loads send instead of path and parameters; out of line, because most have none.
    indirect enum Replacement {
        /// A URL from the server, for path and query.
        case link(Link)
        /// The request of a plain call, for everything; a service completes it unless it is complete.
        case request(HTTPRequest, isComplete: Bool)
    }

    var method: HTTPMethod
    var path: String
    var params: APIParams?
    var replacement: Replacement?
    var headers: HTTPHeaders = [:]
    var serializer: RequestSerializer = .json
    var form: MultipartForm?
    var destination: HTTPRequest.Destination = .memory
    var timeout: Duration?
    /// Boxed, because most loads have none.
    var redirectPolicy: Boxed<RedirectPolicy>?
    var idempotencyKey: String?

    /// Whether the request may be sent twice.
    var isRepeatable: Bool { method.isIdempotent || idempotencyKey != nil }

    /// Whether a URL from the server replaces path and query.
    var followsLink: Bool {
        guard case .link = replacement else { return false }
        return true
    }

    /// Whether a URL from the server leads to another origin than the service's.
    func leavesOrigin(of service: APIService) -> Bool {
        guard case .link(let link) = replacement else { return false }
        return !link.url.hasSameOrigin(as: service.baseURL)
    }

    /// Returns the request for `service`.
    func request(for service: APIService, with common: CommonValues = CommonValues()) throws(APIError) -> HTTPRequest {
        if case .request(let request, let isComplete) = replacement {
            return isComplete ? request : try request.completed(for: service, with: common)
        }
        var params = MergedParams(
            common: common.params,
            specific: params,
            encoder: service.encoder,
            encoding: serializer.ownEncoding ?? service.paramEncoding
        )
        let template = PathTemplate(path)
        let path = try template.filled(from: &params)
        let placement = serializer.placement(for: method)
        let (body, contentType) = try serializer.body(of: params.inBody(by: placement), form: form, method: method)
        let query = placement == .body || replacement != nil ? "" : try params.inQuery(by: placement).formText()
        let url = try url(for: service, path: path, isURL: template.isURL, query: query)
        let headers = headers(replacing: common.headers, contentType: contentType)
        var request = HTTPRequest(method, url, headers: headers, body: body)
        request.destination = destination
        request.timeout = timeout ?? service.timeout
        request.limits = service.limits
        request.redirectPolicy = redirectPolicy?.wrappedValue ?? service.redirectPolicy
        return request
    }

    /// Adds parameters, which replace others of the same name, and a link.
    mutating func add(_ addition: Addition) {
        params = params?.merging(addition.params) ?? addition.params
        replacement = addition.link.map { .link($0.wrappedValue) }
    }

    /// Returns the service's headers, replaced by the body's type, replaced by the request's headers.
    ///
    /// The type of a multipart body replaces the request's, because it contains the boundary.
    private func headers(replacing common: HTTPHeaders, contentType: String?) -> HTTPHeaders {
        var headers = common
        headers["Content-Type"] = contentType ?? headers["Content-Type"]
        headers = headers.merging(self.headers)
        if serializer.isMultipart, let contentType { headers["Content-Type"] = contentType }
        if let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        return headers
    }

    private func url(
        for service: APIService,
        path: String,
        isURL: Bool,
        query: String
    ) throws(APIError) -> URL {
        if case .link(let link) = replacement { return try service.url(following: link) }
        return isURL ? try service.url(absolute: path, query: query) : try service.url(path: path, query: query)
    }
}

extension RequestDraft {
    /// Creates the draft of a plain call.
    init(_ request: HTTPRequest, isComplete: Bool) {
        self.init(method: request.method, path: request.url.path(percentEncoded: true))
        replacement = .request(request, isComplete: isComplete)
        idempotencyKey = request.headers["Idempotency-Key"]
    }
}

extension HTTPRequest {
    /// This request with the URL and the headers of a service.
    fileprivate func completed(for service: APIService, with common: CommonValues) throws(APIError) -> HTTPRequest {
        var request = self
        request.url = try service.url(plain: url)
        request.headers = common.headers.merging(headers)
        return request
    }
}

extension APIService {
    /// Returns a link from the server if it has the service's origin, or another one that is allowed.
    ///
    /// - Throws: `security`, with both origins and no other part of their URLs.
    fileprivate func url(following link: RequestDraft.Link) throws(APIError) -> URL {
        let url = link.url
        let allowed = [baseURL] + link.allowedOrigins
        guard allowed.contains(where: url.hasSameOrigin) else {
            let reason = "the link to a page leads from \(baseURL.originText) to another origin, \(url.originText)"
            throw APIError(refusing: url, allowed: allowed, reason: reason)
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
            throw APIError(refusing: request.url, allowed: [baseURL], reason: reason)
        }
        return request.withoutSecretHeaders()
    }

    /// Returns the URL of a plain call: a path below the base URL, or an absolute URL of the service's origin, unchanged.
    ///
    /// - Throws: `security`, with both origins and no other part of their URLs.
    fileprivate func url(plain url: URL) throws(APIError) -> URL {
        guard url.scheme == nil, url.host == nil else {
            guard url.hasSameOrigin(as: baseURL) else {
                let reason = "the request is for \(url.originText), and the service's origin is \(baseURL.originText)"
                throw APIError(refusing: url, allowed: [baseURL], reason: reason)
            }
            return url
        }
        return try self.url(path: String(url.absoluteString.prefix { $0 != "#" }), query: "")
    }

    /// Returns an absolute URL with a query added, resolved by RFC 3986, if it has the service's origin.
    ///
    /// - Throws: `security`, with both origins and no other part of their URLs; `invalidRequest` for a malformed URL.
    fileprivate func url(absolute text: String, query: String) throws(APIError) -> URL {
        guard let url = URLReference(text.utf8)?.resolved(against: baseURL) else {
            throw APIError(.invalidRequest, reason: "the path is a malformed URL")
        }
        guard url.hasSameOrigin(as: baseURL) else {
            let reason = "the path is a URL of \(url.originText), and the service's origin is \(baseURL.originText)"
            throw APIError(refusing: url, allowed: [baseURL], reason: reason)
        }
        guard !query.isEmpty else { return url }
        let separator = url.absoluteString.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        guard let complete = URL(verbatim: url.absoluteString + separator + query) else {
            throw APIError(.invalidRequest, reason: "the path and its query make no URL")
        }
        return complete
    }
}
