import Foundation

/// Everything that one load sends, before the service adds its own: a value, from which each send is built anew.
struct RequestDraft: Sendable {
    var method: HTTPMethod
    var path: String
    var params: APIParams?
    /// The URL that the server gave for what is asked for; it takes the place of path and query.
    var link: URL?
    var headers: HTTPHeaders = [:]
    var serializer: RequestSerializer = .json
    var form: MultipartForm?
    var timeout: Duration?
    var idempotencyKey: String?

    /// Whether sending it twice does no harm.
    var isRepeatable: Bool { method.isIdempotent || idempotencyKey != nil }

    /// The request for `service`, whose common headers and parameters are asked for now.
    func request(for service: APIService) throws(APIError) -> HTTPRequest {
        var params = Params(common: service.commonParams(), own: params, encoder: service.encoder)
        let path = try PathTemplate(path).filled(from: &params)
        let (body, contentType) = try body(&params)
        let url = try url(for: service, path, &params)
        var request = HTTPRequest(method, url, headers: service.commonHeaders().overridden(by: headers), body: body)
        if let contentType, request.headers["Content-Type"] == nil { request.headers["Content-Type"] = contentType }
        if let idempotencyKey { request.headers["Idempotency-Key"] = idempotencyKey }
        request.timeout = timeout ?? service.timeout
        request.idleTimeout = service.idleTimeout
        request.limits = service.limits
        return request
    }

    /// Adds what asks for a page.
    mutating func add(_ page: PageWish) {
        params = params?.merging(page.params) ?? page.params
        link = page.link
    }

    private func url(for service: APIService, _ path: String, _ params: inout Params) throws(APIError) -> URL {
        if let link { return try service.url(following: link) }
        return try service.url(path: path, query: params.queryPairs())
    }

    private func body(_ params: inout Params) throws(APIError) -> (HTTPBody, contentType: String?) {
        if case .raw(let body, let contentType) = serializer { return (body, contentType) }
        guard !method.encodesParamsInQuery else { return (.empty, nil) }
        defer { params.areTaken = true }
        switch serializer {
        case .json:
            return (.data(try params.json()), "application/json")
        case .form:
            let text = FormEncoding.serialize(try params.pairs())
            return (.data(Data(text.utf8)), "application/x-www-form-urlencoded")
        case .multipart:
            let form = form ?? MultipartForm()
            return (try form.body(fields: params.pairs()), "multipart/form-data; boundary=\(form.boundary)")
        case .raw(let body, let contentType):
            return (body, contentType)
        }
    }
}

/// The parameters on their way into path, query and body; a name goes to one of them.
struct Params {
    /// Whether the body has taken them, so that the query stays empty.
    var areTaken = false
    private let params: APIParams?
    private let encoder: JSONEncoder
    private var usedInPath: Set<String> = []

    init(common: APIParams?, own: APIParams?, encoder: JSONEncoder) {
        params = common.map { common in own.map(common.merging) ?? common } ?? own
        self.encoder = encoder
    }

    /// The text of the parameter `name`, which from now on belongs to the path.
    mutating func takeForPath(_ name: String) throws(APIError) -> String? {
        usedInPath.insert(name)
        return try params?.tree(encoder)[name]?.scalarText
    }

    /// The pairs that no body has taken.
    func queryPairs() throws(APIError) -> [FormEncoding.Pair] {
        areTaken ? [] : try pairs()
    }

    func pairs() throws(APIError) -> [FormEncoding.Pair] {
        try FormEncoding.pairs(of: rest())
    }

    /// The JSON object of all parameters, `{}` without any.
    func json() throws(APIError) -> Data {
        guard let params else { return Data("{}".utf8) }
        guard !usedInPath.isEmpty else { return try params.json(encoder) }
        return try APIParams(rest()).json(encoder)
    }

    private func rest() throws(APIError) -> JSONValue {
        guard let params else { return .object([:]) }
        let tree = try params.tree(encoder)
        guard !usedInPath.isEmpty, case .object(let members) = tree else { return tree }
        return .object(members.filter { !usedInPath.contains($0.key) })
    }
}
