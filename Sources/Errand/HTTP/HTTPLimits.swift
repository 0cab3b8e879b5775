/// The largest response that is accepted; a larger one fails with ``TransportError/Kind/responseTooLarge``.
public struct HTTPLimits: Sendable, Hashable {
    /// The bytes of a decoded body in memory; 32 MiB by default.
    ///
    /// A body that is stored in a file has no limit.
    public var bodyBytes: Int = 32 << 20
    /// The bytes of the header block, all lines together, those of interim responses and trailers included; 256 KiB by default.
    ///
    /// libcurl has limits of its own, of 100 KB for a line.
    public var headerBytes: Int = 256 << 10

    /// Creates the default limits.
    public init() {}

    /// The size counts as over HTTP/1.1.
    package func check(_ headers: HTTPHeaders) throws(TransportError) {
        let bytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.bytes.count + ": \r\n".utf8.count }
        guard bytes <= headerBytes else { throw tooLargeHeaders }
    }

    var tooLargeHeaders: TransportError {
        TransportError(.responseTooLarge, "the header block is larger than \(headerBytes) bytes")
    }
}
