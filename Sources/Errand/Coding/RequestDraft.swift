import Foundation

/// Everything that one load sends, before the service adds its own: a value, from which each send is built anew.
struct RequestDraft: Sendable {
    /// What a load adds to the parameters of its screen, for example to request one page of a list.
    struct Addition: Sendable {
        let params: APIParams
        /// A URL from the server, which replaces path and query.
        let link: URL?
    }

    var method: HTTPMethod
    var path: String
    var params: APIParams?
    /// The URL that the server gave for what is asked for; it takes the place of path and query.
    var link: URL?
    var headers: HTTPHeaders = [:]
    var serializer: RequestSerializer = .json
    var form: MultipartForm?
    var destination: HTTPRequest.Destination = .memory
    var timeout: Duration?
    var idempotencyKey: String?

    /// Whether sending it twice does no harm.
    var isRepeatable: Bool { method.isIdempotent || idempotencyKey != nil }

    /// The request for `service`, whose common headers and parameters are asked for now.
    func request(for service: APIService) throws(APIError) -> HTTPRequest {
        var params = Params(common: service.commonParams(), own: params, encoder: service.encoder)
        let path = try PathTemplate(path).filled(from: &params)
        let (body, contentType) = try body(params)
        let url = try url(for: service, path, params)
        var request = HTTPRequest(method, url, headers: headers(for: service, contentType), body: body)
        request.destination = destination
        request.timeout = timeout ?? service.timeout
        request.limits = service.limits
        return request
    }

    /// Adds parameters, which replace others of the same name, and a link.
    mutating func add(_ addition: Addition) {
        params = params?.merging(addition.params) ?? addition.params
        link = addition.link
    }

    /// The request's own lines win over the body's type, and that over the service's; but only the form knows its boundary.
    private func headers(for service: APIService, _ contentType: String?) -> HTTPHeaders {
        var headers = service.commonHeaders()
        headers["Content-Type"] = contentType ?? headers["Content-Type"]
        headers = headers.merging(self.headers)
        if case .multipart = serializer, let contentType { headers["Content-Type"] = contentType }
        if let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        return headers
    }

    private func url(for service: APIService, _ path: String, _ params: Params) throws(APIError) -> URL {
        if let link { return try service.url(following: link) }
        return try service.url(path: path, query: encodesParamsInQuery ? params.pairs() : [])
    }

    private var encodesParamsInQuery: Bool {
        if case .raw = serializer { true } else { method.encodesParamsInQuery }
    }

    private func body(_ params: Params) throws(APIError) -> (HTTPBody, contentType: String?) {
        switch serializer {
        case .raw(let body, let contentType):
            return (body, contentType)
        case _ where method.encodesParamsInQuery || params.isEmpty && form?.parts.isEmpty != false:
            return (.empty, nil)
        case .json:
            return (.data(try params.json()), "application/json")
        case .form:
            let text = FormEncoding.serialize(try params.pairs())
            return (.data(Data(text.utf8)), "application/x-www-form-urlencoded")
        case .multipart:
            let form = form ?? MultipartForm()
            return (try form.body(fields: params.pairs()), "multipart/form-data; boundary=\(form.boundary)")
        }
    }
}

extension APIService {
    /// Returns a link from the server if it has the service's origin, the only one that may receive the service's headers.
    ///
    /// - Throws: `security`, with both origins and no other part of their URLs.
    fileprivate func url(following link: URL) throws(APIError) -> URL {
        guard link.hasSameOrigin(as: baseURL) else {
            let reason = "the link to a page leads from \(baseURL.originText) to another origin, \(link.originText)"
            throw APIError(.security, service: self, reason: reason)
        }
        return link
    }
}

/// The parameters on their way into the path, and then query or body; a name goes to one of them.
struct Params {
    private let params: APIParams?
    private let encoder: JSONEncoder
    private var usedInPath: Set<String> = []

    init(common: APIParams?, own: APIParams?, encoder: JSONEncoder) {
        params = common.map { common in own.map(common.merging) ?? common } ?? own
        self.encoder = encoder
    }

    /// Whether there are no parameters at all, not even an empty object.
    var isEmpty: Bool { params == nil }

    /// The text of the parameter `name`, which from now on belongs to the path.
    mutating func takeForPath(_ name: String) throws(APIError) -> String? {
        usedInPath.insert(name)
        return try params?.tree(encoder)[name]?.scalarText
    }

    func pairs() throws(APIError) -> [FormEncoding.Pair] {
        try FormEncoding.pairs(of: rest())
    }

    /// The JSON text of what has not gone to the path.
    func json() throws(APIError) -> Data {
        if let params, usedInPath.isEmpty { return try params.json(encoder) }
        return try APIParams(rest()).json(encoder)
    }

    private func rest() throws(APIError) -> JSONValue {
        guard let params else { return .object([:]) }
        let tree = try params.tree(encoder)
        guard !usedInPath.isEmpty, case .object(let members) = tree else { return tree }
        return .object(members.filter { !usedInPath.contains($0.key) })
    }
}
