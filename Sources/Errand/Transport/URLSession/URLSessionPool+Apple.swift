#if canImport(Darwin)
import Foundation

/// The sessions of a transport.
///
/// A session may send requests for several hosts on one HTTP/2 connection, whose certificate is evaluated for the first of them
/// only. Requests with other pinned public keys, or with another right to the client identity, have therefore sessions of their
/// own.
///
/// Untested.
struct URLSessionPool: Sendable {
    private struct Group: Hashable {
        let pins: [String]
        let hasIdentity: Bool
    }

    private let tls: TLSConfiguration
    private let assumesHTTP3Capable: Bool
    private let standard: URLSession
    private let others: [Group: URLSession]

    init(_ configuration: TransportConfiguration, delegate: URLSessionExchanges) {
        tls = configuration.tls
        assumesHTTP3Capable = configuration.assumesHTTP3Capable
        standard = delegate.makeSession(.errand(configuration))
        let groups = Self.groups(of: configuration.tls).map { ($0, delegate.makeSession(.errand(configuration))) }
        others = Dictionary(uniqueKeysWithValues: groups)
    }

    /// Returns the groups besides that of the requests without pinned keys and identity.
    private static func groups(of tls: TLSConfiguration) -> Set<Group> {
        let pins = Set(tls.pinnedPublicKeys.values).union([[]])
        let groups = pins.flatMap { pins in
            (tls.clientIdentity == nil ? [false] : [false, true]).map { Group(pins: pins, hasIdentity: $0) }
        }
        return Set(groups).subtracting([Group(pins: [], hasIdentity: false)])
    }

    /// Calls `start` with a new task for the request of `exchange`.
    func withTask(_ request: URLRequest, for exchange: URLSessionExchange, _ start: (URLSessionTask) -> Void) {
        var request = request
        request.assumesHTTP3Capable = assumesHTTP3Capable
        start(session(for: exchange.request.url).task(with: request, for: exchange))
    }

    private func session(for url: URL) -> URLSession {
        let hasIdentity = tls.clientIdentity?.isAllowed(for: url) ?? false
        return others[Group(pins: tls.pinnedPublicKeys(for: url), hasIdentity: hasIdentity)] ?? standard
    }

    /// Releases the sessions when their tasks have ended.
    func invalidate() {
        standard.finishTasksAndInvalidate()
        for session in others.values { session.finishTasksAndInvalidate() }
    }
}
#endif
