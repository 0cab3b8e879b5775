#if canImport(FoundationNetworking)
extension TransportConfiguration {
    /// Checks that there is no setting that `URLSession` on Linux cannot apply.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the setting.
    func validateForURLSession() throws(TransportError) {
        try validate()
        let standard = TransportConfiguration()
        let settings = [
            ("connectTimeout", connectTimeout == standard.connectTimeout),
            ("idleConnectionAge", idleConnectionAge == standard.idleConnectionAge),
            ("proxy", proxy.isEnvironment), ("unixSocketPath", unixSocketPath == nil),
            ("tls.additionalAuthorities", tls.additionalAuthorities == nil),
            ("tls.pinnedPublicKeys", tls.pinnedPublicKeys.isEmpty), ("tls.clientIdentity", tls.clientIdentity == nil),
            ("tls.minimumVersion", tls.minimumVersion == standard.tls.minimumVersion),
            ("allowsCellularAccess", allowsCellularAccess),
            ("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess),
            ("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess),
            ("assumesHTTP3Capable", !assumesHTTP3Capable),
        ]
        try validateDefaults(settings, "URLSession on Linux has no such setting; keep the default, or install libcurl")
    }
}

extension TransportConfiguration.Proxy {
    fileprivate var isEnvironment: Bool {
        if case .environment = self { true } else { false }
    }
}
#endif
