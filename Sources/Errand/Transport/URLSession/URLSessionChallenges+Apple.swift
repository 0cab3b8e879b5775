#if canImport(Darwin)
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
        // The default could be the user's account on the network.
        case NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate: reply(.rejectProtectionSpace, nil)
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
#endif
