public import Foundation

/// One request as it is sent: a value, which may be sent any number of times.
public struct HTTPRequest: Sendable {
    /// Where the body of a 2xx answer is stored; other bodies are always kept in memory.
    public enum Destination: Sendable, Equatable {
        /// In ``HTTPResponse/body``.
        case memory
        /// In this file, which is created when the answer is complete; an existing file is replaced.
        case file(URL)
    }

    /// The request method.
    public var method: HTTPMethod
    /// The absolute `http` or `https` URL.
    public var url: URL
    /// The header lines; the transport writes `Host`, `Content-Length` and `Transfer-Encoding` itself.
    public var headers: HTTPHeaders
    /// The body.
    public var body: HTTPBody
    /// Where the answer's body is stored.
    public var destination: Destination = .memory
    /// The longest time without a transferred byte in either direction, connecting included; 60 s by default.
    ///
    /// `nil` is no limit.
    public var timeout: Duration? = .seconds(60)
    /// The longest time that the whole exchange may take, redirects included; `nil`, the default, is no limit.
    public var deadline: Duration?
    /// The largest answer that is accepted.
    public var limits = HTTPLimits()
    /// Which redirects are followed; at most 20 by default.
    ///
    /// A transport follows none; a proxy does.
    public var redirectPolicy = RedirectPolicy.follow

    /// Creates a request.
    public init(_ method: HTTPMethod = .get, _ url: URL, headers: HTTPHeaders = [:], body: HTTPBody = .empty) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The largest answer that is accepted; a larger one fails with ``TransportError/Kind/responseTooLarge``.
public struct HTTPLimits: Sendable, Hashable {
    /// The bytes of a decoded body in memory; 32 MiB by default.
    ///
    /// A body that is stored in a file has no limit.
    public var bodyBytes: Int = 32 << 20
    /// The bytes of the header block, all lines together; 256 KiB by default.
    public var headerBytes: Int = 256 << 10

    /// Creates the default limits.
    public init() {}
}
