public import Foundation

/// The answer to one ``HTTPRequest``, redirects not followed.
public struct HTTPResponse: Sendable {
    /// The status code, never 1xx.
    public var status: Int
    /// The header lines in the order of the wire, duplicates kept.
    public var headers: HTTPHeaders
    /// The decoded body; empty when it went to ``file``.
    public var body: Data
    /// The file that took the body, when the request asked for that and the status is 2xx.
    public var file: URL?
    /// Whether the connection carries many exchanges at a time, as with HTTP/2; false by default.
    public var isMultiplexed = false

    /// Creates an answer, for example in a fake transport.
    public init(status: Int, headers: HTTPHeaders = [:], body: Data = Data(), file: URL? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
        self.file = file
    }
}
