#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

/// The sessions of a transport.
struct URLSessionPool: Sendable {
    private let session: URLSession
    private let delegate: URLSessionExchanges

    init(
        _ configuration: TransportConfiguration,
        proxy: ProxyServer?,
        pinnedKeys: PinnedKeys,
        delegate: URLSessionExchanges
    ) {
        self.delegate = delegate
        session = delegate.makeSession(.errand())
    }

    /// Calls `start` with a new task for the request of `exchange`.
    func withTask(_ request: URLRequest, for exchange: URLSessionExchange, _ start: (URLSessionTask) -> Void) {
        guard exchange.needsFreshConnection else { return start(session.task(with: request, for: exchange)) }
        let fresh = delegate.makeSession(session.configuration)
        start(fresh.task(with: request, for: exchange))
        fresh.finishTasksAndInvalidate()
    }

    /// Releases the sessions when their tasks have ended.
    func invalidate() {
        session.finishTasksAndInvalidate()
    }
}

extension URLSessionExchange {
    /// Whether the request needs a new connection: libcurl repeats a request without a body when a connection that was used
    /// before is lost.
    fileprivate var needsFreshConnection: Bool {
        bodyBytes == 0 && !request.method.isIdempotent
    }
}
#endif
