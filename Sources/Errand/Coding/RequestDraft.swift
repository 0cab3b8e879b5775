import Foundation

/// Everything that one load sends, without what the service adds to it.
///
/// Each send builds its request from this value.
struct RequestDraft: Sendable {
    /// What a load adds to the parameters of its screen, for example to request one page of a list.
    struct Addition: Sendable {
        let params: APIParams
        let link: Link?
    }

    /// A URL from the server, which replaces path and query.
    struct Link: Sendable {
        let url: URL
        let allowedOrigins: [URL]
    }

    /// What a few loads send instead of path and parameters; out of line, because most have none.
    indirect enum Replacement {
        /// For path and query.
        case link(Link)
        /// For everything; a service completes the request unless it is complete.
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
    var resumesDownload = false
    var timeout: Duration?
    var allowsCellularAccess = true
    /// Boxed, because most loads have none.
    var redirectPolicy: Boxed<RedirectPolicy>?
    var idempotencyKey: String?

    var isPlainCall: Bool {
        if case .request = replacement { true } else { false }
    }

    /// The URL of a plain call, which has no path with names of parameters.
    var listedPath: String {
        guard case .request(let request, _) = replacement else { return path }
        return request.url.absoluteString
    }

    var followsLink: Bool {
        if case .link = replacement { true } else { false }
    }

    mutating func resumeDownload(to destination: HTTPRequest.Destination) throws(APIError) {
        guard destination != .memory, method == .get, headers["Range"] == nil else {
            let reason = "resumesDownload is for a GET without a Range header whose destination is a file or a folder"
            throw APIError(.invalidRequest, reason: reason)
        }
        resumesDownload = true
    }

    mutating func add(_ addition: Addition) {
        params = params?.merging(addition.params) ?? addition.params
        replacement = addition.link.map { .link($0) }
    }
}

extension RequestDraft {
    init(_ request: HTTPRequest, isComplete: Bool) {
        self.init(method: request.method, path: request.url.path(percentEncoded: true))
        replacement = .request(request, isComplete: isComplete)
        idempotencyKey = request.headers["Idempotency-Key"]
    }
}
