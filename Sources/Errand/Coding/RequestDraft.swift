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
    var allowsCellularAccess = true
    /// Boxed, because most loads have none.
    var redirectPolicy: Boxed<RedirectPolicy>?
    var idempotencyKey: String?

    /// Whether the request may be sent twice.
    var isRepeatable: Bool { method.isIdempotent || idempotencyKey != nil }

    /// Whether it is the request of a plain call.
    var isPlainCall: Bool {
        guard case .request = replacement else { return false }
        return true
    }

    /// Whether a URL from the server replaces path and query.
    var followsLink: Bool {
        guard case .link = replacement else { return false }
        return true
    }

    /// Adds parameters, which replace others of the same name, and a link.
    mutating func add(_ addition: Addition) {
        params = params?.merging(addition.params) ?? addition.params
        replacement = addition.link.map { .link($0.wrappedValue) }
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
