/// The transport of the platform, which a proxy uses by default: libcurl on Linux if it is available, `URLSession` otherwise.
///
/// On Linux, requests fail with ``TransportError/Kind/cannotConnect`` while the process has no descriptors or memory for libcurl.
///
/// ```swift
/// var configuration = TransportConfiguration()
/// configuration.connectionsPerHost = 8
/// let proxy = APIProxy(transport: try SystemTransport(configuration))
/// ```
public final class SystemTransport: HTTPTransport, HeadReporting {
    let platform: any HTTPTransport

    /// Creates a transport with the default configuration, which shares no connections with other transports.
    public init() {
        #if os(Linux)
        let hasCurl = CurlTransport.unavailableReason == nil
        platform = hasCurl ? CurlTransport(CurlSettings()) : URLSessionTransport()
        #else
        platform = URLSessionTransport()
        #endif
    }

    /// Creates a transport with a configuration, which shares no connections with other transports.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a setting that is invalid, or that the platform's transport cannot
    ///   apply; the reason names it.
    public init(_ configuration: TransportConfiguration) throws(TransportError) {
        #if os(Linux)
        let hasCurl = CurlTransport.unavailableReason == nil
        platform = try hasCurl ? CurlTransport(configuration) : URLSessionTransport(configuration)
        #else
        platform = try URLSessionTransport(configuration)
        #endif
    }

    /// The capacity of the platform's transport.
    public var capacity: TransportCapacity { platform.capacity }

    /// Sends a request; see ``HTTPTransport/send(_:progress:)``.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        try await platform.send(request, progress: progress)
    }
}
