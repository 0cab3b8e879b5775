public import Foundation

/// How a transport connects; fixed when the transport is made.
public struct TransportConfiguration: Sendable {
    /// Which proxy carries the requests.
    public enum Proxy: Sendable {
        /// The one that `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` in the environment name.
        case environment
        /// This one; user and password may stand in the URL.
        case url(URL)
        /// None at all.
        case none
    }

    /// How many connections a proxy lets one host have; 16 by default.
    ///
    /// A host that speaks HTTP/2 has one connection, which carries many requests. Login requests
    /// (``BaseAPIRequest/isLoginRequest``), the hosts that redirects lead to, and requests that are sent without a proxy have
    /// connections above the caps.
    public var connectionsPerHost = 16
    /// How many connections a proxy lets all hosts together have, and how many are kept open without a request; 128 by default.
    public var connections = 128
    /// How long a new connection may take, TLS included; 30 s by default.
    public var connectTimeout: Duration = .seconds(30)
    /// How long a connection may lie idle and still be used again, in whole seconds; 50 s by default.
    ///
    /// Common servers and balancers close after 60 or 75 s; a request that meets that moment fails unless it is idempotent.
    public var idleConnectionAge: Duration = .seconds(50)
    /// Which proxy carries the requests; the environment's by default.
    public var proxy = Proxy.environment
    /// How the server is made sure of, and who the client is.
    public var tls = TLSConfiguration()
    /// The Unix socket to connect to, whatever the host in the URL; none by default.
    public var unixSocketPath: String?

    /// Creates the default configuration.
    public init() {}
}

extension TransportCapacity {
    /// The caps of a configuration.
    init(of configuration: TransportConfiguration) {
        self.init()
        connectionsPerHost = max(1, configuration.connectionsPerHost)
        connections = max(1, configuration.connections)
    }
}
