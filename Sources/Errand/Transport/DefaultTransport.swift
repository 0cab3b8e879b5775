import Synchronization

/// The transport of the platform, which a proxy uses by default.
public enum DefaultTransport {
    /// Creates a transport: ``CurlTransport`` on Linux, where libcurl is available, ``URLSessionTransport`` otherwise.
    ///
    /// Use it for an app's transport that wraps another one, for example to write a log. When the process has no descriptors
    /// or memory left for libcurl, requests fail with ``TransportError/Kind/cannotConnect`` until there are some.
    public static func make() -> any HTTPTransport {
        #if os(Linux)
        if CurlTransport.unavailableReason == nil { return (try? CurlTransport()) ?? DeferredCurlTransport() }
        #endif
        return URLSessionTransport()
    }

    /// Creates a transport with a configuration: ``CurlTransport`` on Linux, where libcurl is available,
    /// ``URLSessionTransport`` otherwise.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a setting that is invalid, or that `URLSession` cannot apply;
    ///   ``TransportError/Kind/cannotConnect`` when the process has no descriptors or memory left for libcurl.
    public static func make(_ configuration: TransportConfiguration) throws(TransportError) -> any HTTPTransport {
        #if os(Linux)
        if CurlTransport.unavailableReason == nil { return try CurlTransport(configuration) }
        #endif
        if let setting = configuration.settingBeyondURLSession {
            throw TransportError(.invalidRequest, "URLSession cannot apply the setting \(setting)")
        }
        return URLSessionTransport(connectionsPerHost: configuration.connectionsPerHost)
    }
}

extension TransportConfiguration {
    /// The first setting that ``URLSessionTransport`` would ignore; `nil` if there is none.
    var settingBeyondURLSession: String? {
        let standard = TransportConfiguration()
        let settings = [
            ("connections", connections != standard.connections),
            ("connectTimeout", connectTimeout != standard.connectTimeout),
            ("idleConnectionAge", idleConnectionAge != standard.idleConnectionAge),
            ("proxy", !proxy.isEnvironment), ("unixSocketPath", unixSocketPath != nil),
            ("tls.additionalAuthorities", tls.additionalAuthorities != nil),
            ("tls.pinnedPublicKeys", !tls.pinnedPublicKeys.isEmpty), ("tls.clientIdentity", tls.clientIdentity != nil),
            ("tls.minimumVersion", tls.minimumVersion != standard.tls.minimumVersion),
        ]
        return settings.first(where: \.1)?.0
    }
}

extension TransportConfiguration.Proxy {
    fileprivate var isEnvironment: Bool {
        if case .environment = self { true } else { false }
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
