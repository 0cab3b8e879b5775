#if canImport(Darwin)
import Dispatch
import Foundation
import Security

/// Answers the challenges of servers: for trust in their certificate, and for the client's certificate.
///
/// Untested.
struct URLSessionChallenges: Sendable {
    typealias Reply = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// The evaluation of a certificate may wait for the network, and does not block the callbacks of the sessions.
    private static let queue = DispatchQueue(label: "errand.urlsession.trust", attributes: .concurrent)

    private let trust: ServerTrust?
    private let identity: ImportedIdentity?

    /// Creates what answers with the defaults of the system.
    init() {
        (trust, identity) = (nil, nil)
    }

    /// Reads the authorities and the identity of `configuration`.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``.
    init(_ configuration: TLSConfiguration, _ pinnedKeys: PinnedKeys) throws(TransportError) {
        trust = try ServerTrust(configuration, pinnedKeys)
        identity = try ImportedIdentity(configuration.clientIdentity)
    }

    /// Answers a challenge; calls `reply` once, on any thread.
    func answer(_ challenge: URLAuthenticationChallenge, of exchange: URLSessionExchange?, _ reply: @escaping Reply) {
        let space = challenge.protectionSpace
        let url = URL(serverOf: space.host, port: space.port)
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodServerTrust:
            guard let trust else { break }
            let received = ReceivedTrust(value: space.serverTrust)
            let host = url.flatMap(HostName.init)
            return Self.queue.async { trust.answer(received, of: host, exchange, reply) }
        case NSURLAuthenticationMethodClientCertificate:
            guard let url, let identity, identity.isAllowed(for: url) else { break }
            return reply(.useCredential, identity.credential)
        default: break
        }
        reply(.performDefaultHandling, nil)
    }
}

extension ServerTrust {
    /// Accepts the certificate of a server, or ends the exchange.
    fileprivate func answer(
        _ received: ReceivedTrust,
        of host: HostName?,
        _ exchange: URLSessionExchange?,
        _ reply: URLSessionChallenges.Reply
    ) {
        do throws(TransportError) {
            guard let host, let trust = received.value else {
                throw TransportError(.security, "the server has sent no certificate, or has no name")
            }
            try evaluate(trust, of: host)
            reply(.useCredential, URLCredential(trust: trust))
        } catch {
            exchange?.fail(error)
            reply(.cancelAuthenticationChallenge, nil)
        }
    }
}
#endif
