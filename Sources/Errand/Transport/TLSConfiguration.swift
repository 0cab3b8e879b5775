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
    /// What a server that asks is shown; nothing by default.
    public var clientIdentity: ClientIdentity?
    /// The oldest protocol version that is spoken; TLS 1.2 by default.
    public var minimumVersion = Version.v1_2

    /// Creates the default configuration.
    public init() {}
}

/// A certificate and its private key, by which a server knows the client.
public struct ClientIdentity: Sendable {
    /// A PEM file, or a PKCS#12 file with the extension `p12` or `pfx`.
    public var certificate: URL
    /// The PEM file of the key, where it does not stand in the certificate's file.
    public var privateKey: URL?
    /// The password of the key.
    public var password: String?

    /// Creates an identity.
    public init(certificate: URL, privateKey: URL? = nil, password: String? = nil) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.password = password
    }
}
