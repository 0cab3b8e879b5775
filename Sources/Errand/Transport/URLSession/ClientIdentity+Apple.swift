#if canImport(Darwin)
import Foundation
import Security

/// The client identity of a PKCS #12 file, in memory.
///
/// Untested.
// The credential is immutable.
struct ImportedIdentity: @unchecked Sendable {
    let credential: URLCredential
    private let identity: ClientIdentity

    /// Reads the file; `nil` without an identity.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when it cannot be read, or its password is another one.
    init?(_ identity: ClientIdentity?) throws(TransportError) {
        guard let identity else { return nil }
        self.identity = identity
        guard let file = FileManager.default.contents(atPath: identity.certificate.path) else {
            throw .refusal(of: "tls.clientIdentity", "\(identity.certificate.lastPathComponent) cannot be read")
        }
        // Without the last option, macOS stores the identity in the user's keychain.
        let options: [String: Any] = [
            kSecImportExportPassphrase as String: identity.password ?? "", kSecImportToMemoryOnly as String: true,
        ]
        var result: CFArray?
        let status = SecPKCS12Import(file as CFData, options as CFDictionary, &result)
        guard status == errSecSuccess, let item = (result as? [[String: Any]])?.first,
            let key = item[kSecImportItemIdentity as String], let imported = ([key] as? [SecIdentity])?.first
        else {
            let name = identity.certificate.lastPathComponent
            let reason = "\(name) has no identity, another password, or algorithms that the system does not read"
            throw .refusal(of: "tls.clientIdentity", "\(reason) (\(status))")
        }
        // The chain begins with the certificate of the identity.
        let chain = item[kSecImportItemCertChain as String] as? [SecCertificate] ?? []
        credential = URLCredential(
            identity: imported,
            certificates: chain.count > 1 ? Array(chain.dropFirst()) : nil,
            persistence: .forSession
        )
    }

    /// Returns whether the server of `url` may receive the certificate.
    func isAllowed(for url: URL) -> Bool { identity.isAllowed(for: url) }
}
#endif
