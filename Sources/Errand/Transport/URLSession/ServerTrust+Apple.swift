#if canImport(Darwin)
import CryptoKit
import Foundation
import Security

/// Evaluates the certificates of servers with additional authorities and pinned public keys.
///
/// Untested.
// The certificates do not change after they were read.
struct ServerTrust: @unchecked Sendable {
    private let pinnedKeys: PinnedKeys
    private let authorities: [SecCertificate]

    /// Reads the authorities; `nil` when the system's evaluation is enough.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when the authorities cannot be read, or one is not a certificate.
    init?(_ configuration: TLSConfiguration, pinnedKeys: PinnedKeys) throws(TransportError) {
        guard configuration.additionalAuthorities != nil || !pinnedKeys.isEmpty else { return nil }
        self.pinnedKeys = pinnedKeys
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
    func evaluate(_ trust: SecTrust, of host: HostName) throws(TransportError) {
        if !authorities.isEmpty { try setAuthorities(of: trust) }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else {
            let reason = error?.localizedDescription ?? "unknown"
            throw TransportError(.security, "the server's certificate is not trusted: \(reason)", underlying: error)
        }
        try pinnedKeys.check(trust.pinnedKey, of: host)
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
    /// The public key of the server's own certificate, which was evaluated, in the form of pinned keys; `nil` for a kind of key
    /// that is not supported.
    fileprivate var pinnedKey: String? {
        guard let key = SecTrustCopyKey(self), let algorithm = SubjectPublicKeyInfo.Algorithm(of: key),
            let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?
        else { return nil }
        let digest = SHA256.hash(data: SubjectPublicKeyInfo.encode(bytes, algorithm))
        return PinnedKeys.prefix + Data(digest).base64EncodedString()
    }
}
#endif
