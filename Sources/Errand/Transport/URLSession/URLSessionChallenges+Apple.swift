#if canImport(Darwin)
import CryptoKit
import Dispatch
import Foundation
import Security

/// Responds to the challenges of servers: for trust in their certificate, and for the client's certificate.
///
/// Untested.
struct URLSessionChallenges: Sendable {
    typealias Reply = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// The evaluation of a certificate may wait for the network, and does not block the callbacks of the sessions.
    private static let queue = DispatchQueue(label: "errand.urlsession.trust", attributes: .concurrent)

    let record: TrustRecord
    private let trust: ServerTrust?
    private let identity: ImportedIdentity?

    /// Creates a responder with the defaults of the system.
    init() {
        (record, trust, identity) = (TrustRecord(), nil, nil)
    }

    /// Reads the authorities and the identity of `configuration`.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``.
    init(_ configuration: TLSConfiguration, pinnedKeys: PinnedKeys) throws(TransportError) {
        record = TrustRecord(pinnedKeys)
        trust = try ServerTrust(configuration, pinnedKeys: pinnedKeys)
        identity = try ImportedIdentity(configuration.clientIdentity)
    }

    /// Responds to a challenge; calls `reply` once, on any thread.
    func respond(to challenge: URLAuthenticationChallenge, of exchange: URLSessionExchange?, _ reply: @escaping Reply) {
        let space = challenge.protectionSpace
        let server = URL(serverOf: space.host, port: space.port)
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodServerTrust:
            guard let trust else { return reply(.performDefaultHandling, nil) }
            let received = ReceivedTrust(value: space.serverTrust)
            Self.queue.async { trust.respond(received, of: server.flatMap(HostName.init), exchange, record, reply) }
        case NSURLAuthenticationMethodClientCertificate:
            // A connection without the certificate could be used for the next request.
            guard let exchange else { return reply(.cancelAuthenticationChallenge, nil) }
            // The default would be an identity of the user's keychain.
            reply(.useCredential, credential(for: server, of: exchange.request.url))
        // The default could be the user's account on the network, which only a proxy server may receive.
        case NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate:
            reply(space.proxyType == nil ? .rejectProtectionSpace : .performDefaultHandling, nil)
        default: reply(.performDefaultHandling, nil)
        }
    }

    /// Returns the identity for a request to `url` when its own server requests it; `nil` for none, and for a proxy server.
    private func credential(for server: URL?, of url: URL) -> URLCredential? {
        guard let server, server.hasSameOrigin(as: url), let identity, identity.isAllowed(for: url) else { return nil }
        return identity.credential
    }
}

extension ServerTrust {
    /// Accepts the certificate of a server, or ends the exchange.
    fileprivate func respond(
        _ received: ReceivedTrust,
        of host: HostName?,
        _ exchange: URLSessionExchange?,
        _ record: TrustRecord,
        _ reply: URLSessionChallenges.Reply
    ) {
        do throws(TransportError) {
            guard let host, let trust = received.value else {
                throw TransportError(.security, "the server has sent no certificate, or has no name")
            }
            try evaluate(trust, of: host)
            record.accept(host)
            reply(.useCredential, URLCredential(trust: trust))
        } catch {
            if let host { record.refuse(host, for: error) }
            exchange?.fail(error)
            reply(.cancelAuthenticationChallenge, nil)
        }
    }
}

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
            throw .refusal(of: "tls.clientIdentity", "\(Redactor.fileName(of: identity.certificate)) cannot be read")
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
            let name = Redactor.fileName(of: identity.certificate)
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

    func isAllowed(for url: URL) -> Bool { identity.isAllowed(for: url) }
}

// Untested.
extension SubjectPublicKeyInfo.Algorithm {
    init?(of key: SecKey) {
        guard let attributes = SecKeyCopyAttributes(key) as? [String: Any],
            let type = attributes[kSecAttrKeyType as String] as? String,
            let bits = attributes[kSecAttrKeySizeInBits as String] as? Int
        else { return nil }
        let isRSA = type == kSecAttrKeyTypeRSA as String
        guard isRSA || type == kSecAttrKeyTypeECSECPrimeRandom as String else { return nil }
        switch bits {
        case _ where isRSA: self = .rsa
        case 256: self = .p256
        case 384: self = .p384
        case 521: self = .p521
        default: return nil
        }
    }
}
#endif
