public import Foundation

/// The response to one ``HTTPRequest``, without following redirects.
public struct HTTPResponse: Sendable {
    private struct Contents: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: Data
        var file: URL?
        var isMultiplexed = false
        var isStreamed = false
        var bodyStream: HTTPBody.Stream?
        var timings: ExchangeTimings?
    }

    // Boxed, because an asynchronous function reserves memory for each response that it may return.
    @Boxed private var contents: Contents

    /// The status code, never 1xx.
    public var status: Int {
        get { contents.status }
        set { contents.status = newValue }
    }
    /// The header lines in the order in which they were received, duplicates included.
    public var headers: HTTPHeaders {
        get { contents.headers }
        _modify { yield &contents.headers }
    }
    /// The decoded body; empty when it is stored in ``file``.
    public var body: Data {
        get { contents.body }
        _modify { yield &contents.body }
    }
    /// The file in which the body is stored; only for a 2xx response to a request with a file as its destination.
    public var file: URL? {
        get { contents.file }
        set { contents.file = newValue }
    }
    /// Whether the connection carries many exchanges at the same time, as with HTTP/2; `false` by default.
    public var isMultiplexed: Bool {
        get { contents.isMultiplexed }
        set { contents.isMultiplexed = newValue }
    }
    /// Whether the sink of the request has received the body.
    package var isStreamed: Bool {
        get { contents.isStreamed }
        set { contents.isStreamed = newValue }
    }
    /// Replaces the body of a response that a script streams.
    package var bodyStream: HTTPBody.Stream? {
        get { contents.bodyStream }
        set { contents.bodyStream = newValue }
    }
    /// The durations of the phases of the exchange; `nil` if the transport does not measure them.
    public var timings: ExchangeTimings? {
        get { contents.timings }
        set { contents.timings = newValue }
    }

    /// Creates a response, for example in a transport for tests.
    public init(status: Int, headers: HTTPHeaders = [:], body: Data = Data(), file: URL? = nil) {
        contents = Contents(status: status, headers: headers, body: body, file: file)
    }
}

extension UTF8 {
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
}

extension Data {
    var withoutByteOrderMark: Data {
        starts(with: UTF8.byteOrderMark) ? dropFirst(UTF8.byteOrderMark.count) : self
    }
}
