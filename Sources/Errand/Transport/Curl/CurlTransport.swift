#if os(Linux)
import Foundation

/// The transport of Linux: the libcurl that is in the process already, on one thread of its own.
///
/// - HTTP/1.1 with kept connections, HTTP/2 over TLS; `http` and `https` alone.
/// - Every request starts at once; the caps of ``TransportConfiguration`` are its ``capacity``, to which a proxy keeps.
/// - Requests to one `https` host wait half a second for a connection that another one makes, because HTTP/2 can carry
///   all of them; then the next one makes a connection of its own.
/// - Bodies in gzip, deflate, Brotli and Zstandard are decoded, the header lines stay as they came. A body in a content
///   coding that is not known stays coded; one in a transfer coding that is not known, in more than two codings, or cut is
///   no answer.
/// - Progress of a download counts decoded bytes; the whole is known when the answer announces it and is not coded.
/// - When a kept connection dies before an answer begins, an idempotent request is sent again, and so is one that an
///   HTTP/2 server refused to process. Any other request goes out once and ends with
///   ``TransportError/Kind/connectionLost``.
/// - `Content-Length`, `Transfer-Encoding` and `Host` among a request's header lines are left out.
/// - One header line may have 100 KB, and a header block 300 KB and 5,000 lines, whatever the limits say.
public final class CurlTransport: HTTPTransport {
    /// The caps of the configuration; over HTTP/2, 100 exchanges share a connection.
    public let capacity: TransportCapacity
    private let loop: CurlLoop

    /// Creates a transport with connections of its own.
    ///
    /// - Throws: ``TransportError/Kind/cannotConnect`` when there is no libcurl from 7.68 on;
    ///   ``TransportError/Kind/invalidRequest`` when the configuration's certificates, pins or origins are none, or
    ///   this libcurl does not take them.
    public init(_ configuration: TransportConfiguration = TransportConfiguration()) throws(TransportError) {
        if let reason = CurlLibrary.unavailableReason { throw TransportError(.cannotConnect, reason) }
        guard configuration.tls.pinnedPublicKeys.allSatisfy({ $0.hasPrefix("sha256//") }) else {
            throw TransportError(.invalidRequest, "a pinned public key does not begin with sha256//")
        }
        try configuration.tls.clientIdentity?.validate()
        let trust = try CurlTrust(configuration.tls)
        _ = try CurlHandle(configuration, trust)
        guard let loop = CurlLoop(configuration, trust) else {
            throw TransportError(.cannotConnect, "libcurl cannot start")
        }
        self.loop = loop
        capacity = TransportCapacity(of: configuration)
    }

    deinit {
        loop.stop()
    }

    /// Why there can be no `CurlTransport` in this process; `nil` when there can.
    public static var unavailableReason: String? { CurlLibrary.unavailableReason }

    /// Sends a request; see ``HTTPTransport/send(_:progress:)``.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        try request.validate()
        let exchange = try CurlExchange(request, progress: progress)
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                exchange.continuation = continuation
                loop.submit(exchange)
            }
        } onCancel: {
            loop.cancel(exchange)
        }
        return try exchange.response()
    }
}
#endif
