#if canImport(Darwin)
import CryptoKit
import Foundation
import Security

/// Evaluates the certificates of servers with additional authorities and pinned public keys.
///
/// Untested.
// The certificates do not change after they were read.
struct ServerTrust: @unchecked Sendable {
    private let configuration: TLSConfiguration
    private let authorities: [SecCertificate]

    /// Reads the authorities; `nil` when the system's evaluation is enough.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when the authorities cannot be read, or one is not a certificate.
    init?(_ configuration: TLSConfiguration) throws(TransportError) {
        guard configuration.additionalAuthorities != nil || !configuration.pinnedPublicKeys.isEmpty else { return nil }
        self.configuration = configuration
        var authorities: [SecCertificate] = []
        for bytes in try configuration.additionalAuthorities?.decoded() ?? [] {
            guard let certificate = SecCertificateCreateWithData(nil, bytes as CFData) else {
                throw .invalidAuthority(number: authorities.count + 1)
            }
            authorities.append(certificate)
        }
        self.authorities = authorities
    }

    /// Evaluates the certificate, its name included, and then compares its public key; may wait for the network.
    ///
    /// - Throws: ``TransportError/Kind/security``.
    func evaluate(_ trust: SecTrust, of url: URL) throws(TransportError) {
        if !authorities.isEmpty { try setAuthorities(of: trust) }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else {
            let reason = error?.localizedDescription ?? "unknown"
            throw TransportError(.security, "the server's certificate is not trusted: \(reason)", underlying: error)
        }
        try configuration.checkPin(trust.pin, of: url)
    }

    private func setAuthorities(of trust: SecTrust) throws(TransportError) {
        let isSet = SecTrustSetAnchorCertificates(trust, authorities as CFArray) == errSecSuccess
        // Without this call, the authorities of the system are not trusted any more.
        guard isSet, SecTrustSetAnchorCertificatesOnly(trust, false) == errSecSuccess else {
            throw TransportError(.security, "the additional authorities cannot be applied")
        }
    }
}

/// The certificates that a server has sent.
// Used by one thread at a time: the session gives them to one challenge.
struct ReceivedTrust: @unchecked Sendable {
    let value: SecTrust?
}

extension SecTrust {
    /// The pin of the server's own certificate, which was evaluated; `nil` for a kind of key that is not supported.
    fileprivate var pin: String? {
        guard let key = SecTrustCopyKey(self), let algorithm = SubjectPublicKeyInfo.Algorithm(of: key),
            let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?
        else { return nil }
        let digest = SHA256.hash(data: SubjectPublicKeyInfo.encode(bytes, algorithm))
        return TLSConfiguration.pinPrefix + Data(digest).base64EncodedString()
    }
}
#endif
