public import Foundation

/// The answer to one ``HTTPRequest``, without following redirects.
public struct HTTPResponse: Sendable {
    /// The status code, never 1xx.
    public var status: Int
    /// The header lines in the order in which they were received, duplicates included.
    public var headers: HTTPHeaders
    /// The decoded body; empty when it is stored in ``file``.
    public var body: Data
    /// The file in which the body is stored; only for a 2xx answer to a request with a file as its destination.
    public var file: URL?
    /// Whether the connection carries many exchanges at the same time, as with HTTP/2; `false` by default.
    public var isMultiplexed = false
    /// When its phases began and ended; `nil` from a transport that does not measure them.
    public var timings: ExchangeTimings?

    /// Creates an answer, for example in a transport for tests.
    public init(status: Int, headers: HTTPHeaders = [:], body: Data = Data(), file: URL? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
        self.file = file
    }
}
