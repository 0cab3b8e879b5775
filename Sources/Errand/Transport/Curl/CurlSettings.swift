#if os(Linux)
import Foundation

/// The checked configuration of a transport, with what is made of it once.
struct CurlSettings: Sendable {
    var configuration: TransportConfiguration
    let caBundle: CurlCABundle
    let pinnedKeys: PinnedKeys

    init() {
        configuration = TransportConfiguration()
        configuration.proxy = configuration.proxy.read()
        (pinnedKeys, caBundle) = (PinnedKeys(), CurlCABundle())
    }

    /// Also reads the additional authorities.
    init(_ configuration: TransportConfiguration) throws(TransportError) {
        try configuration.validateForCurl()
        self.configuration = configuration
        self.configuration.proxy = configuration.proxy.read()
        pinnedKeys = try PinnedKeys(configuration.tls.pinnedPublicKeys)
        caBundle = try CurlCABundle(configuration.tls)
    }
}

extension TransportConfiguration.Proxy {
    /// Returns `none` for an environment without a proxy server, which libcurl would search for before each request.
    fileprivate func read() -> Self {
        guard case .environment = self else { return self }
        return Self.isSet("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY") ? self : .none
    }

    static func isSet(_ variables: String...) -> Bool {
        variables.contains { getenv($0).map { $0.pointee != 0 } == true }
    }
}
#endif
