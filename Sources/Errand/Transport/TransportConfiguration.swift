public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// How a transport connects; fixed when the transport is created.
///
/// The same on every platform. A setting that a transport cannot apply, and a value that is a mistake, is refused when the
/// transport is created, with ``TransportError/Kind/invalidRequest`` and the name of the setting; nothing is ignored. On
/// Linux, the contents of the files of ``TLSConfiguration/clientIdentity``, and the password, are checked later: with a
/// mistake there, requests to its origins fail.
public struct TransportConfiguration: Sendable {
    /// The proxy server for the requests.
    public enum Proxy: Sendable {
        /// The proxy server of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; on Apple's
        /// platforms, that of the system's settings. `CurlTransport` has none when none of the first three is set at its
        /// creation; otherwise, it reads them for each request.
        case environment
        /// This proxy server; the URL has a host and the scheme `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, and
        /// may contain user and password. Apple's platforms have `http`, `https` and `socks5h`.
        case url(URL)
        /// No proxy server.
        case none
    }

    /// The most connections to one host that an ``APIProxy`` uses, at least 1; 16 by default.
    ///
    /// A host that supports HTTP/2 has one connection, which carries many requests. Login requests
    /// (``BaseAPIRequest/isLoginRequest``), the hosts of redirects, and requests that are sent without an ``APIProxy`` have
    /// additional connections.
    public var connectionsPerHost = 16
    /// The most connections that an ``APIProxy`` uses in all, at least 1; 128 by default.
    ///
    /// `CurlTransport` keeps as many open without a request; `URLSession` decides that itself.
    public var connections = 128
    /// The longest time for opening a connection, TLS included, more than 0; 30 s by default.
    ///
    /// `URLSession` has no such limit and refuses another value; ``HTTPRequest/timeout`` and ``HTTPRequest/deadline`` apply.
    public var connectTimeout: Duration = .seconds(30)
    /// How long an unused connection may be used again, in whole seconds, at least 1; 50 s by default.
    ///
    /// A fraction of a second is refused. `URLSession` refuses another value, and does not set the default.
    ///
    /// Common servers and load balancers close an unused connection after 60 or 75 s; a request that is sent at that moment
    /// fails unless it is idempotent.
    public var idleConnectionAge: Duration = .seconds(50)
    /// The proxy server for the requests; the environment's by default.
    public var proxy = Proxy.environment
    /// How the server and the client are authenticated.
    public var tls = TLSConfiguration()
    /// The path of the Unix socket to connect to, for every host, at most 107 bytes; none by default.
    public var unixSocketPath: String?
    /// Whether requests may use a cellular network; true by default.
    ///
    /// This and the next two settings are those of `URLSessionConfiguration`; only `URLSession` on Apple's platforms can apply
    /// them.
    public var allowsCellularAccess = true
    /// Whether requests may use a network that the system considers expensive; true by default.
    public var allowsExpensiveNetworkAccess = true
    /// Whether requests may use a network in Low Data Mode; true by default.
    public var allowsConstrainedNetworkAccess = true
    /// Whether a server is assumed to support HTTP/3, without `Alt-Svc` from it; false by default.
    ///
    /// A hint for `https` URLs: without a response over HTTP/3, the request is sent over HTTP/2 or HTTP/1.1. `CurlTransport`
    /// requires libcurl 7.88 or later with HTTP/3, and does not use HTTP/3 for a host with
    /// ``TLSConfiguration/pinnedPublicKeys``.
    public var assumesHTTP3Capable = false
    /// Changes the configuration of a `URLSession` before it is created; `nil` by default.
    ///
    /// For settings that have no property here, such as `networkServiceType`, `multipathServiceType` and the `protocolClasses` of
    /// a debugging tool. Only Apple's platforms have it; it is refused on Linux. It is called for each session of the transport,
    /// after the other settings. Cookies, cache, stored credentials, `timeoutIntervalForRequest` and
    /// `httpMaximumConnectionsPerHost` are not the session's: they are set again afterwards.
    public var configureSession: (@Sendable (URLSessionConfiguration) -> Void)?

    /// Creates the default configuration.
    public init() {}
}

extension TransportCapacity {
    init(of configuration: TransportConfiguration) {
        self.init()
        connectionsPerHost = configuration.connectionsPerHost
        connections = configuration.connections
    }
}

extension TransportConfiguration.Proxy: RedactedDescription {
    /// The kind of proxy, and the URL without user and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .url(let url): "url(\(Redactor.shared.url(url.absoluteString)))"
        case .none: "none"
        }
    }
}
