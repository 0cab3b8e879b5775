public import Foundation

/// A certificate and its private key, which identify the client to the servers of certain origins.
///
/// The certificate is never sent to another origin, such as the target of a redirect, because it would disclose the identity of
/// the client.
public struct ClientIdentity: Sendable {
    /// A PEM file, or a PKCS#12 file with the extension `p12` or `pfx`; on Apple's platforms only the latter.
    package let certificate: URL
    /// The PEM file of the key; `nil` when the certificate's file contains it.
    package let privateKey: URL?
    /// The password of the key.
    package let password: String?
    /// The origins (RFC 6454) whose servers may receive the certificate, each as an `https` URL; at least one.
    ///
    /// Only scheme, host and port are compared, so a service's ``APIService/baseURL`` can be used. Subdomains and other names
    /// of the same server are different origins.
    package let origins: [URL]

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - certificate: A PEM file, or a PKCS#12 file with the extension `p12` or `pfx`.
    ///   - privateKey: The PEM file of the key; `nil` when the certificate's file contains it.
    ///   - password: The password of the key.
    ///   - origins: `https` URLs of the origins whose servers may receive the certificate.
    public init(certificate: URL, privateKey: URL? = nil, password: String? = nil, origins: [URL]) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.password = password
        self.origins = origins
    }
}

extension ClientIdentity {
    func isAllowed(for url: URL) -> Bool {
        origins.contains { $0.hasSameOrigin(as: url) }
    }
}

extension ClientIdentity: RedactedDescription {
    /// The path of the certificate without names that look like tokens, and not the password of the key.
    public var description: String { "identity(\(Redactor.path(of: certificate)))" }
}
