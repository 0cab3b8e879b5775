public import Foundation

/// One request as it goes to the wire: a pure value, which may be sent any number of times.
public struct HTTPRequest: Sendable {
    /// Where the bytes of a 2xx answer go; other answers always go to memory.
    public enum Destination: Sendable, Equatable {
        /// Into ``HTTPResponse/body``.
        case memory
        /// Into this file, which appears, whole, when the answer is complete; an older one is replaced.
        case file(URL)
    }

    /// The request method.
    public var method: HTTPMethod
    /// The absolute `http` or `https` URL.
    public var url: URL
    /// The header lines; `Host`, `Content-Length` and `Transfer-Encoding` are the transport's.
    public var headers: HTTPHeaders
    /// What is sent.
    public var body: HTTPBody
    /// Where the answer's body goes.
    public var destination: Destination = .memory
    /// The longest silence: how long no byte may move in either direction, connecting included; 60 s by default.
    ///
    /// `nil` is no limit.
    public var timeout: Duration? = .seconds(60)
    /// How long the whole exchange may take, redirects included; `nil`, the default, is no limit.
    public var deadline: Duration?
    /// How large an answer may be.
    public var limits = HTTPLimits()

    /// Creates a request.
    public init(_ method: HTTPMethod = .get, _ url: URL, headers: HTTPHeaders = [:], body: HTTPBody = .empty) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// How large an answer may be before the exchange fails with `responseTooLarge`.
public struct HTTPLimits: Sendable, Hashable {
    /// Bytes of the decoded body in memory; 32 MiB by default.
    ///
    /// A body that goes to a file has no limit.
    public var bodyBytes: Int = 32 << 20
    /// Bytes of the header block, all lines together; 256 KiB by default.
    public var headerBytes: Int = 256 << 10

    /// Creates the default limits.
    public init() {}
}
