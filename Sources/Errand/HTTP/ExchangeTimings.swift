public import Foundation

/// When the phases of one request and its answer began and ended, and how many bytes were transferred.
///
/// Each phase is `nil` where it did not occur, as the name lookup on a connection that is reused, and where the transport cannot
/// measure it. Redirects and retries have timings of their own. The sum of the phases is at most ``total``.
public struct ExchangeTimings: Sendable {
    private struct Contents: Sendable {
        var startedAt: Date
        var queue: Duration?
        var nameLookup: Duration?
        var connect: Duration?
        var tls: Duration?
        var request: Duration?
        var firstByte: Duration?
        var body: Duration?
        var total: Duration
        var attempt = 1
        var sentHeaderBytes: Int64?
        var sentBodyBytes: Int64?
        var receivedHeaderBytes: Int64?
        var receivedBodyBytes: Int64?
        var decodedBodyBytes: Int64?
        var protocolName: String?
        var remoteAddress: String?
        var remotePort: Int?
        var connectionID: String?
        var isReused: Bool?
    }

    // Boxed, because answers and errors have it.
    @Boxed private var contents: Contents

    /// When the transport received the request, by the clock of the machine.
    public var startedAt: Date {
        get { contents.startedAt }
        set { contents.startedAt = newValue }
    }
    /// The time in the queue of the proxy, before ``startedAt``; no part of ``total``.
    ///
    /// Only of the first try of a load with monitors.
    public var queue: Duration? {
        get { contents.queue }
        set { contents.queue = newValue }
    }
    /// The name lookup.
    public var nameLookup: Duration? {
        get { contents.nameLookup }
        set { contents.nameLookup = newValue }
    }
    /// The TCP connection, without TLS.
    public var connect: Duration? {
        get { contents.connect }
        set { contents.connect = newValue }
    }
    /// The TLS handshake.
    public var tls: Duration? {
        get { contents.tls }
        set { contents.tls = newValue }
    }
    /// The transfer of the request, headers and body.
    public var request: Duration? {
        get { contents.request }
        set { contents.request = newValue }
    }
    /// The wait from the end of the request to the first byte of the answer.
    public var firstByte: Duration? {
        get { contents.firstByte }
        set { contents.firstByte = newValue }
    }
    /// The transfer of the answer, from its first to its last byte.
    public var body: Duration? {
        get { contents.body }
        set { contents.body = newValue }
    }
    /// The time from ``startedAt`` to the last byte of the answer, or to the failure.
    public var total: Duration {
        get { contents.total }
        set { contents.total = newValue }
    }
    /// The number of the try within its load, 1 for the first one.
    public var attempt: Int {
        get { contents.attempt }
        set { contents.attempt = newValue }
    }
    /// The bytes of the request line and the header lines that were sent, with the empty line at their end.
    public var sentHeaderBytes: Int64? {
        get { contents.sentHeaderBytes }
        set { contents.sentHeaderBytes = newValue }
    }
    /// The bytes of the request body that were sent, without the framing of chunks.
    public var sentBodyBytes: Int64? {
        get { contents.sentBodyBytes }
        set { contents.sentBodyBytes = newValue }
    }
    /// The bytes of the status line and the header lines that were received, with the empty line at their end.
    public var receivedHeaderBytes: Int64? {
        get { contents.receivedHeaderBytes }
        set { contents.receivedHeaderBytes = newValue }
    }
    /// The bytes of the answer's body as received, compressed where it is, without the framing of chunks.
    public var receivedBodyBytes: Int64? {
        get { contents.receivedBodyBytes }
        set { contents.receivedBodyBytes = newValue }
    }
    /// The bytes of the answer's body after its content codings are removed.
    public var decodedBodyBytes: Int64? {
        get { contents.decodedBodyBytes }
        set { contents.decodedBodyBytes = newValue }
    }
    /// The protocol by its ALPN identifier, for example `http/1.1` or `h2` (RFC 7301, IANA).
    public var protocolName: String? {
        get { contents.protocolName }
        set { contents.protocolName = newValue }
    }
    /// The IP address of the server or the proxy server.
    public var remoteAddress: String? {
        get { contents.remoteAddress }
        set { contents.remoteAddress = newValue }
    }
    /// The port of the server or the proxy server.
    public var remotePort: Int? {
        get { contents.remotePort }
        set { contents.remotePort = newValue }
    }
    /// Distinguishes the connection from the others of the transport.
    public var connectionID: String? {
        get { contents.connectionID }
        set { contents.connectionID = newValue }
    }
    /// Whether the connection was used before.
    public var isReused: Bool? {
        get { contents.isReused }
        set { contents.isReused = newValue }
    }

    /// Creates timings without phases, for example in a transport for tests.
    public init(startedAt: Date, total: Duration) {
        contents = Contents(startedAt: startedAt, total: total)
    }

    /// These timings with the number of their try, and for the first one with the time in the queue.
    func counted(attempt: Int, queue: Duration?) -> ExchangeTimings {
        var timings = self
        timings.attempt = max(1, attempt)
        if attempt <= 1, let queue { timings.queue = queue }
        return timings
    }

    /// The phases of ``total`` that are known, in the order in which they occur.
    public var phases: [(name: String, duration: Duration)] {
        let all = [
            ("nameLookup", nameLookup), ("connect", connect), ("tls", tls), ("request", request),
            ("firstByte", firstByte), ("body", body),
        ]
        return all.compactMap { name, duration in duration.map { (name, $0) } }
    }
}
