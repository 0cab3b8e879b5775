import Foundation

/// What the evaluations of certificates have shown: the hosts that a transport has refused, and the pinned keys that a server
/// has had.
///
/// On Apple's platforms, a connection that resumes a TLS session (RFC 8446 section 2.2) may have no challenge, and that session
/// may be one of another `URLSession` of the process, which pins no keys. A response is therefore refused before a server with
/// one of the keys was accepted in this process.
final class TrustRecord: Sendable {
    /// The lists of keys of which a server has had one.
    ///
    /// Hosts with the same list may share a connection, whose certificate is evaluated for one of them.
    private static let acceptedKeys = Lock<Set<[String]>>([])

    private let pinnedKeys: PinnedKeys
    private let refusals = Lock<[HostName: TransportError]>([:])

    init(_ pinnedKeys: PinnedKeys = PinnedKeys()) {
        self.pinnedKeys = pinnedKeys
    }

    /// Records that the certificate of `host` is trusted and has one of its pinned keys.
    func accept(_ host: HostName) {
        let keys = pinnedKeys.keys(for: host)
        if !keys.isEmpty { Self.acceptedKeys.withLock { _ = $0.insert(keys) } }
        _ = refusals.withLock { $0.removeValue(forKey: host) }
    }

    func refuse(_ host: HostName, for error: TransportError) {
        _ = refusals.withLock { $0.updateValue(error, forKey: host) }
    }

    /// Returns why the last certificate of the server of `url` was refused; `nil` when none was, or another one was accepted
    /// since.
    func refusal(of url: URL) -> TransportError? {
        guard let host = HostName(url) else { return nil }
        return refusals.withLock { $0[host] }
    }

    /// Checks, for the response of the server of `url`, that a key which is pinned for it was accepted.
    ///
    /// - Throws: ``TransportError/Kind/security``.
    func checkResponse(of url: URL) throws(TransportError) {
        let keys = try pinnedKeys.keys(for: url)
        guard keys.isEmpty || Self.acceptedKeys.withLock({ $0.contains(keys) }) else {
            throw TransportError(
                .security,
                "the public key of the server was not checked: the connection resumes a TLS session of another URLSession; "
                    + "send every request to a host with pinned keys through a transport that has them"
            )
        }
    }
}
