#if canImport(Darwin)
import Foundation
import Network
import Security

// Untested.
extension URLSessionConfiguration {
    /// Returns the configuration of a session with the settings of `configuration`, whose proxy server is `proxy`.
    static func errand(
        _ configuration: TransportConfiguration,
        proxy: ProxyServer?
    ) -> URLSessionConfiguration {
        let session = errand()
        session.tlsMinimumSupportedProtocolVersion = configuration.tls.minimumVersion == .v1_3 ? .TLSv13 : .TLSv12
        session.allowsCellularAccess = configuration.allowsCellularAccess
        session.allowsExpensiveNetworkAccess = configuration.allowsExpensiveNetworkAccess
        session.allowsConstrainedNetworkAccess = configuration.allowsConstrainedNetworkAccess
        // Without entries, there is no proxy server; `nil` would be those of the system.
        if case .none = configuration.proxy { session.connectionProxyDictionary = [:] }
        if let proxy { session.proxyConfigurations = [ProxyConfiguration(proxy)] }
        if let configure = configuration.configureSession {
            configure(session)
            session.turnOffWhatErrandDoes()
        }
        return session
    }
}

extension ProxyConfiguration {
    fileprivate init(_ server: ProxyServer) {
        let port = NWEndpoint.Port(rawValue: server.port) ?? .any
        let endpoint = NWEndpoint.hostPort(host: NWEndpoint.Host(server.host), port: port)
        switch server.kind {
        case .http: self.init(httpCONNECTProxy: endpoint)
        case .https: self.init(httpCONNECTProxy: endpoint, tlsOptions: NWProtocolTLS.Options())
        case .socks5: self.init(socksv5Proxy: endpoint)
        }
        // Never without the proxy server.
        allowFailover = false
        if let user = server.user { applyCredential(username: user, password: server.password ?? "") }
    }
}
#endif
