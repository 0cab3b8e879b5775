#if os(Linux)
import Foundation

/// The transport of Linux: libcurl, which is in the process already, on one thread of its own.
public final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Creates a transport with connections of its own.
    ///
    /// - Throws: ``TransportError/Kind/cannotConnect`` when there is no libcurl from 7.68 on;
    ///   ``TransportError/Kind/invalidRequest`` when the configuration's certificates or pins are none.
    public init(_ configuration: TransportConfiguration = TransportConfiguration()) throws(TransportError) {
        if let reason = CurlLibrary.unavailableReason { throw TransportError(.cannotConnect, reason) }
        guard configuration.tls.pinnedPublicKeys.allSatisfy({ $0.hasPrefix("sha256//") }) else {
            throw TransportError(.invalidRequest, "a pinned public key does not begin with sha256//")
        }
        guard let loop = CurlLoop(configuration, try CurlTrust(configuration.tls)) else {
            throw TransportError(.cannotConnect, "libcurl cannot start")
        }
        self.loop = loop
    }

    deinit {
        loop.stop()
    }

    /// Why there can be no `CurlTransport` in this process; `nil` when there can.
    public static var unavailableReason: String? { CurlLibrary.unavailableReason }

    /// Sends a request.
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
