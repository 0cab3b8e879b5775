#if canImport(Darwin)
extension TransportConfiguration {
    // Untested.
    /// Checks that there is no setting that `URLSession` on Apple's platforms cannot apply.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the setting.
    func validateForURLSession() throws(TransportError) {
        try validate()
        try validateForAppleURLSession()
    }
}
#endif
