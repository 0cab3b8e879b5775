public import Foundation

/// How a transport makes sure of the server, and shows who the client is.
///
/// The server's name is always checked against its certificate; there is no way to switch that off.
public struct TLSConfiguration: Sendable {
    /// Certificates in PEM form.
    public enum Certificates: Sendable {
        /// All certificates of this file, which is read when the transport is made.
        case file(URL)
        /// All certificates of this text.
        case data(Data)
    }

    /// The oldest protocol version that is spoken.
    public enum Version: Sendable {
        /// TLS 1.2 (RFC 5246).
        case v1_2
        /// TLS 1.3 (RFC 8446).
        case v1_3
    }

    /// Authorities that are trusted besides those of the system; none by default.
    public var additionalAuthorities: Certificates?
    /// The public keys of which a server must show one, each as `sha256//` and the digest in Base64; none by default.
    ///
    /// The digest is that of the key's SubjectPublicKeyInfo (RFC 7469 section 2.4). The certificate is checked as well.
    public var pinnedPublicKeys: [String] = []
    /// The certificate that a server of its origins is shown when it asks for one; none by default.
    public var clientIdentity: ClientIdentity?
    /// The oldest protocol version that is spoken; TLS 1.2 by default.
    public var minimumVersion = Version.v1_2

    /// Creates the default configuration.
    public init() {}
}

/// A certificate and its private key, which identify the client to the servers of certain origins.
///
/// A server of any other origin, such as the target of a redirect, is never shown the certificate, since it would disclose who
/// the client is.
public struct ClientIdentity: Sendable {
    /// A PEM file, or a PKCS#12 file with the extension `p12` or `pfx`.
    public var certificate: URL
    /// The PEM file of the key; `nil` when the certificate's file contains it.
    public var privateKey: URL?
    /// The password of the key.
    public var password: String?
    /// The origins (RFC 6454) whose servers may see the certificate, each as an `https` URL; at least one.
    ///
    /// Scheme, host and port count, paths do not: a service's ``APIService/baseURL`` can be given as it is. Subdomains and other
    /// names of the same server are origins of their own.
    public var origins: [URL]

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - certificate: A PEM file, or a PKCS#12 file with the extension `p12` or `pfx`.
    ///   - privateKey: The PEM file of the key; `nil` when the certificate's file contains it.
    ///   - password: The password of the key.
    ///   - origins: `https` URLs of the origins whose servers may see the certificate.
    public init(certificate: URL, privateKey: URL? = nil, password: String? = nil, origins: [URL]) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.password = password
        self.origins = origins
    }
}

extension ClientIdentity {
    /// Checks that there is an origin, and that each has a certificate to ask for.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``.
    func validate() throws(TransportError) {
        guard !origins.isEmpty else {
            throw TransportError(.invalidRequest, "the client identity names no origin that may see it")
        }
        guard origins.allSatisfy({ Origin($0)?.scheme == "https" }) else {
            throw TransportError(.invalidRequest, "an origin of the client identity is no https URL with a host")
        }
    }

    /// Returns whether the server of `url` may see the certificate.
    func belongs(to url: URL) -> Bool {
        origins.contains { $0.hasSameOrigin(as: url) }
    }
}
