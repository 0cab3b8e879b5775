import Foundation

/// Makes the request of each send of a load: its draft, with what its service and the adapters add.
struct RequestBuilder: Sendable {
    private(set) var draft: RequestDraft
    let service: APIService

    init(_ draft: RequestDraft, for service: APIService) {
        (self.draft, self.service) = (draft, service)
    }

    func adaptedRequest(with common: CommonValues, _ context: AdapterContext) async throws(APIError) -> HTTPRequest {
        // An adapter may add secrets, which another origin must not receive.
        if case .link(let link) = draft.replacement, !link.url.hasSameOrigin(as: service.baseURL) {
            return try request(with: common)
        }
        var (adapted, common, context) = (self, common, context)
        let adapters = service.adapters
        if !adapters.params.isEmpty {
            context.sentParams = SentParams(draft, for: service)
            let params = try params(with: common)?.withMembers(by: service.encoder)
            adapted.draft.params = try await service.adapt(params, in: context)
            common.params = nil
        }
        let request = try adapted.request(with: common)
        // Only adapters that have adapted the parameters sign them.
        if !adapters.params.isEmpty { context.sentParams = SentParams(adapted.draft, for: service) }
        return adapters.request.isEmpty ? request : try await service.adapt(request, in: context)
    }

    func request(with common: CommonValues = CommonValues()) throws(APIError) -> HTTPRequest {
        if case .request(var request, let isComplete) = draft.replacement {
            guard !isComplete else { return request }
            request.url = try service.url(plain: request.url)
            request.headers = common.headers.merging(request.headers)
            return request
        }
        var params = MergedParams(
            params: params(with: common),
            encoder: service.encoder,
            encoding: draft.serializer.ownEncoding ?? service.paramEncoding,
            isAdapted: !service.adapters.params.isEmpty
        )
        let template = PathTemplate(draft.path)
        let path = try template.filled(from: &params)
        let placement = draft.serializer.placement(for: draft.method)
        let (body, contentType) = try draft.serializer.body(
            of: params.inBody(by: placement),
            form: draft.form,
            method: draft.method
        )
        let query = placement == .body || draft.replacement != nil ? "" : try params.inQuery(by: placement).formText()
        let url = try url(path: path, isURL: template.isURL, query: query)
        let headers = headers(replacing: common.headers, contentType: contentType)
        var request = HTTPRequest(draft.method, url, headers: headers, body: body)
        request.destination = draft.destination
        request.timeout = draft.timeout ?? service.timeout
        request.limits = service.limits
        request.redirectPolicy = draft.redirectPolicy?.wrappedValue ?? service.redirectPolicy
        request.allowsCellularAccess = draft.allowsCellularAccess
        return request
    }

    private func params(with common: CommonValues) -> APIParams? {
        guard let specific = draft.params else { return common.params }
        return common.params?.merging(specific) ?? specific
    }

    /// The service's headers, replaced by the body's type, replaced by the request's headers.
    ///
    /// The type of a multipart body replaces the request's, because it contains the boundary.
    private func headers(replacing common: HTTPHeaders, contentType: String?) -> HTTPHeaders {
        var headers = common
        headers["Content-Type"] = contentType ?? headers["Content-Type"]
        headers = headers.merging(draft.headers)
        if draft.serializer.isMultipart, let contentType { headers["Content-Type"] = contentType }
        if let idempotencyKey = draft.idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        return headers
    }

    private func url(path: String, isURL: Bool, query: String) throws(APIError) -> URL {
        if case .link(let link) = draft.replacement { return try service.url(following: link) }
        return isURL ? try service.url(absolute: path, query: query) : try service.url(path: path, query: query)
    }
}

/// What a service adds to a request: its common headers and parameters of one moment.
struct CommonValues: Sendable {
    var headers: HTTPHeaders = [:]
    var params: APIParams?
    /// The app could not make those of a lookup, for which they are needed only if the stored response varies by them.
    var lacksHeaders = false
}

extension APIService {
    func common(isOfLookup: Bool = false) async throws(APIError) -> CommonValues {
        var common = CommonValues()
        do {
            if commonParams != nil || commonHeaders != nil {
                common = try await EnvironmentScope.runForLoad(in: environment) { try await ownCommon(isOfLookup) }
            }
            if !environment.headers.isEmpty { common.headers = common.headers.merging(environment.headers) }
        } catch {
            throw failure(from: error, reason: "the service could not make its common headers or parameters")
        }
        return common
    }

    private func ownCommon(_ isOfLookup: Bool) async throws -> CommonValues {
        var common = CommonValues()
        if let commonParams { common.params = try await commonParams() }
        guard let commonHeaders else { return common }
        do {
            common.headers = try await commonHeaders()
        } catch let error as APIError where isOfLookup && error.isOfUnreachableServer {
            common.lacksHeaders = true
        }
        return common
    }

    func failure(from error: any Error, reason: String, as type: APIErrorType = .invalidRequest) -> APIError {
        if let error = error as? APIError {
            // Something else was cancelled, for which the load must not end as cancelled.
            guard error.type == .cancelled, !Task.isCancelled else { return error }
        }
        return APIError(type, reason: reason, underlying: error)
    }
}

extension APIService {
    /// An error has both origins and no other part of their URLs.
    fileprivate func url(following link: RequestDraft.Link) throws(APIError) -> URL {
        let url = link.url
        let allowed = [baseURL] + link.allowedOrigins
        guard allowed.contains(where: url.hasSameOrigin) else {
            let reason = "the link to a page leads from \(baseURL.originText) to another origin, \(url.originText)"
            throw APIError(refusing: url, allowed: allowed, reason: reason)
        }
        return url
    }

    /// Throws if another origin than the service's would receive a body.
    func withoutSecrets(_ request: HTTPRequest) throws(APIError) -> HTTPRequest {
        guard !request.url.hasSameOrigin(as: baseURL) else { return request }
        guard request.body.isEmpty else {
            let reason = "the link to a page would send the body to another origin, \(request.url.originText)"
            throw APIError(refusing: request.url, allowed: [baseURL], reason: reason)
        }
        return request.withoutSecretHeaders()
    }

    /// Leaves an absolute URL of the service's origin unchanged; an error has both origins and no other part of their URLs.
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

    /// An error has both origins and no other part of their URLs.
    fileprivate func url(absolute text: String, query: String) throws(APIError) -> URL {
        guard let url = URLReference(text.utf8)?.resolved(against: baseURL) else {
            throw APIError(.invalidRequest, reason: "the path is a malformed URL")
        }
        guard url.hasSameOrigin(as: baseURL) else {
            let reason = """
                the path is a URL of \(url.originText), and the service's origin is \(baseURL.originText): \
                a request to another server names a service with its base URL
                """
            throw APIError(refusing: url, allowed: [baseURL], reason: reason)
        }
        guard !query.isEmpty else { return url }
        var text = url.absoluteString
        text.append(query: query)
        guard let complete = URL(verbatim: text) else {
            throw APIError(.invalidRequest, reason: "the path and its query make no URL")
        }
        return complete
    }
}
