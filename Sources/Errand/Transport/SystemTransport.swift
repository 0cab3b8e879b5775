import Synchronization

/// The transport of the platform, which a proxy uses by default: `CurlTransport` on Linux, where libcurl is available,
/// ``URLSessionTransport`` otherwise.
///
/// ```swift
/// var configuration = TransportConfiguration()
/// configuration.connectionsPerHost = 8
/// let proxy = APIProxy(transport: try SystemTransport(configuration))
/// ```
///
/// An ``APIProxy`` uses the platform's transport inside it directly.
public final class SystemTransport: HTTPTransport {
    /// The platform's transport.
    let platform: any HTTPTransport

    /// Creates a transport with the default configuration, which shares no connections with other transports.
    ///
    /// On Linux, when the process has no descriptors or memory left for libcurl, requests fail with
    /// ``TransportError/Kind/cannotConnect`` until there are some.
    public init() {
        #if os(Linux)
        guard CurlTransport.unavailableReason != nil else {
            platform = (try? CurlTransport()) ?? DeferredCurlTransport()
            return
        }
        #endif
        platform = URLSessionTransport()
    }

    /// Creates a transport with a configuration, which shares no connections with other transports.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a setting that is invalid, or that the platform's transport cannot
    ///   apply; the reason names it. ``TransportError/Kind/cannotConnect`` when the process has no descriptors or memory left
    ///   for libcurl.
    public init(_ configuration: TransportConfiguration) throws(TransportError) {
        #if os(Linux)
        guard CurlTransport.unavailableReason != nil else {
            platform = try CurlTransport(configuration)
            return
        }
        #endif
        platform = try URLSessionTransport(configuration)
    }

    /// That of the platform's transport.
    public var capacity: TransportCapacity { platform.capacity }

    /// Sends a request; see ``HTTPTransport/send(_:progress:)``.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        try await platform.send(request, progress: progress)
    }
}

#if os(Linux)
/// Creates libcurl's transport at the first request for which the process has enough resources.
private final class DeferredCurlTransport: HTTPTransport {
    let capacity = TransportCapacity(of: TransportConfiguration())
    private let created = Mutex<CurlTransport?>(nil)

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        try await transport().send(request, progress: progress)
    }

    private func transport() throws(TransportError) -> CurlTransport {
        // Under the lock: concurrent requests would each create one, and use up the descriptors.
        try created.withLock { (created) throws(TransportError) in
            if let created { return created }
            let transport = try CurlTransport()
            created = transport
            return transport
        }
    }
}
#endif
