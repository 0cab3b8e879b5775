#if os(Linux)
/// The checked configuration of a transport, with what is made of it once.
struct CurlSettings: Sendable {
    var configuration: TransportConfiguration
    let caBundle: CurlCABundle
    let pinnedKeys: PinnedKeys

    /// Checks a configuration and reads the additional authorities.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when a setting is invalid, or this libcurl cannot apply it;
    ///   ``TransportError/Kind/storage`` when the additional authorities cannot be stored.
    init(_ configuration: TransportConfiguration) throws(TransportError) {
        try configuration.validateForCurl()
        self.configuration = configuration
        pinnedKeys = try PinnedKeys(configuration.tls.pinnedPublicKeys)
        caBundle = try CurlCABundle(configuration.tls)
    }
}

extension TransportConfiguration {
    /// Checks that there is no setting that this libcurl cannot apply.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the setting.
    fileprivate func validateForCurl() throws(TransportError) {
        try validate()
        let networks = [
            ("allowsCellularAccess", allowsCellularAccess),
            ("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess),
            ("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess),
        ]
        try validateDefaults(networks, "libcurl does not know the kind of a network; keep true on Linux")
        guard !assumesHTTP3Capable || CurlLibrary.supportsHTTP3 else {
            let reason = "libcurl \(CurlLibrary.version) does not support HTTP/3 with a fallback; keep false"
            throw .refusal(of: "assumesHTTP3Capable", reason)
        }
    }
}
#endif
