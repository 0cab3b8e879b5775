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
        let keys: [String]
        let hasIdentity: Bool
    }

    private let identity: ClientIdentity?
    private let pinnedKeys: PinnedKeys
    private let assumesHTTP3Capable: Bool
    private let standard: URLSession
    private let others: [Group: URLSession]

    init(
        _ configuration: TransportConfiguration,
        proxy: ProxyServer?,
        pinnedKeys: PinnedKeys,
        delegate: URLSessionExchanges
    ) {
        identity = configuration.tls.clientIdentity
        self.pinnedKeys = pinnedKeys
        assumesHTTP3Capable = configuration.assumesHTTP3Capable
        standard = delegate.makeSession(.errand(configuration, proxy: proxy))
        let identities = identity == nil ? [false] : [false, true]
        let groups = pinnedKeys.lists.union([[]]).flatMap { keys in
            identities.map { Group(keys: keys, hasIdentity: $0) }
        }
        let others = groups.filter { $0 != Group(keys: [], hasIdentity: false) }
        self.others = Dictionary(
            uniqueKeysWithValues: others.map { ($0, delegate.makeSession(.errand(configuration, proxy: proxy))) }
        )
    }

    /// Calls `start` with a new task for the request of `exchange`.
    func withTask(_ request: URLRequest, for exchange: URLSessionExchange, _ start: (URLSessionTask) -> Void) {
        var request = request
        request.assumesHTTP3Capable = assumesHTTP3Capable
        let url = exchange.request.url
        let keys = HostName(url).map { pinnedKeys.keys(for: $0) } ?? []
        let group = Group(keys: keys, hasIdentity: identity?.isAllowed(for: url) ?? false)
        start((others[group] ?? standard).task(with: request, for: exchange))
    }

    func invalidate() {
        standard.finishTasksAndInvalidate()
        for session in others.values { session.finishTasksAndInvalidate() }
    }
}
#endif
