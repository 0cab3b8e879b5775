extension TransportError {
    /// Returns the error for a setting of a ``TransportConfiguration`` that a transport cannot apply.
    ///
    /// - Parameters:
    ///   - setting: The path of the property, such as `tls.clientIdentity`.
    ///   - reason: Why it cannot be applied, and what to do.
    /// - Returns: An error of the kind ``Kind/invalidRequest``.
    static func refusal(of setting: String, _ reason: String) -> TransportError {
        TransportError(.invalidRequest, "the setting \(setting) cannot be applied: \(reason)")
    }
}

extension TransportConfiguration {
    /// Checks what no transport can apply.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the setting.
    func validate() throws(TransportError) {
        try tls.clientIdentity?.validate()
    }

    /// Checks that each of these settings has its default.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the first that has not, and with `reason`.
    func validateDefaults(_ settings: [(name: String, isDefault: Bool)], _ reason: String) throws(TransportError) {
        if let setting = settings.first(where: { !$0.isDefault }) { throw .refusal(of: setting.name, reason) }
    }
}
