import Foundation

extension TransportConfiguration {
    /// Checks that there is no setting that `URLSession` on Apple's platforms cannot apply.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the setting.
    func validateForAppleURLSession() throws(TransportError) {
        let standard = TransportConfiguration()
        let settings = [
            ("connectTimeout", connectTimeout == standard.connectTimeout),
            ("idleConnectionAge", idleConnectionAge == standard.idleConnectionAge),
            ("unixSocketPath", unixSocketPath == nil),
        ]
        try validateDefaults(settings, "URLSession has no such setting; keep the default")
        _ = try proxy.server()
        try tls.clientIdentity?.validatePKCS12()
    }
}

extension ClientIdentity {
    /// Checks that the identity is in one PKCS #12 file.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``.
    fileprivate func validatePKCS12() throws(TransportError) {
        guard ["p12", "pfx"].contains(certificate.pathExtension.lowercased()), privateKey == nil else {
            // Not every version of the systems reads the algorithms that OpenSSL 3 selects.
            let command =
                "openssl pkcs12 -export -certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1 "
                + "-in certificate.pem -inkey key.pem -out identity.p12"
            throw .refusal(of: "tls.clientIdentity", "Apple's systems read only PKCS #12; make a file with \(command)")
        }
    }
}
