public import Foundation

/// The durations of the phases of one request and its response.
///
/// A phase is `nil` if it did not occur, such as the name lookup on a reused connection, or if the transport cannot measure it.
/// On Linux, `URLSession` measures only ``body`` and ``total``. libcurl before 8.10 measures ``request`` only for a body that is
/// sent in parts; otherwise this time is included in ``firstByte``. A phase in which the exchange failed ends with the failure.
/// Redirects and retries have separate timings. The sum of the phases is at most ``total``.
///
/// libcurl sends an idempotent request again if a reused connection is lost before a response has begun. The timings of both
/// attempts are then added.
public struct ExchangeTimings: Sendable {
    /// When the transport received the request, by the clock of the machine.
    public var startedAt: Date
    /// The time in the queue of the proxy, before ``startedAt``; no part of ``total``.
    ///
    /// Only for the first attempt of a load; 0 if the load did not queue.
    public var queue: Duration?
    /// The name lookup.
    public var nameLookup: Duration?
    /// The TCP connection, without TLS.
    public var connect: Duration?
    /// The TLS handshake.
    public var tls: Duration?
    /// The transfer of the request, headers and body, at most until the first byte of the response.
    public var request: Duration?
    /// The wait from the end of the request to the first byte of the response.
    public var firstByte: Duration?
    /// The transfer of the response, from its first to its last byte.
    public var body: Duration?
    /// The time from ``startedAt`` to the last byte of the response, or to the failure.
    public var total: Duration
    /// The number of the attempt within its load, from 1.
    public var attempt = 1
    /// With the empty line at their end; `nil` over HTTP/2 on Linux, where they are compressed.
    package var sentHeaderBytes: Int64?
    /// Without the framing of chunks.
    package var sentBodyBytes: Int64?
    /// Of the final (not 1xx) response, as ``sentHeaderBytes``.
    package var receivedHeaderBytes: Int64?
    /// Compressed where it is, without the framing of chunks.
    package var receivedBodyBytes: Int64?
    /// After the content codings are removed.
    package var decodedBodyBytes: Int64?
    /// The ALPN identifier, for example `http/1.1` or `h2` (RFC 7301, IANA).
    package var protocolName: String?
    /// That of the server or the proxy server.
    package var remoteAddress: String?
    /// That of the server or the proxy server.
    package var remotePort: Int?
    /// Distinguishes the connection from the others that the transport has at the time.
    package var connectionID: String?
    /// Whether the connection was opened for an earlier request.
    public var isReused: Bool?

    /// Creates timings without phases, for example in a transport for tests.
    public init(startedAt: Date, total: Duration) {
        self.startedAt = startedAt
        self.total = total
    }

    /// Only the first try has the time in the queue.
    func withAttempt(_ attempt: Int, queueTime: Duration?) -> ExchangeTimings {
        var timings = self
        timings.attempt = max(1, attempt)
        if attempt <= 1, let queueTime { timings.queue = queueTime }
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

extension ExchangeTimings: RedactedDescription {
    /// One line, in milliseconds, for example
    /// `12.3 ms: request 0.1, first byte 11.2, body 1.0; http/1.1 127.0.0.1:8080, reused`.
    public var description: String {
        let names = ["nameLookup": "name lookup", "tls": "TLS", "firstByte": "first byte"]
        let phases = phases.map { "\(names[$0.name] ?? $0.name) \($0.duration.milliseconds)" }
        let peer = [protocolName, remoteText].compactMap(\.self).joined(separator: " ")
        let connection = [peer, isReused == true ? "reused" : ""].filter { !$0.isEmpty }.joined(separator: ", ")
        let measured = phases.isEmpty ? "" : ": " + phases.joined(separator: ", ")
        return "\(total.milliseconds) ms\(measured)\(connection.isEmpty ? "" : "; " + connection)"
    }

    private var remoteText: String? {
        guard let remoteAddress, let remotePort else { return remoteAddress }
        return remoteAddress.contains(":") ? "[\(remoteAddress)]:\(remotePort)" : "\(remoteAddress):\(remotePort)"
    }
}

extension Duration {
    fileprivate var milliseconds: String { String(format: "%.1f", self / .milliseconds(1)) }
}
