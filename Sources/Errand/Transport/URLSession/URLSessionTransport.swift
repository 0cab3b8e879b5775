import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests through Foundation's `URLSession`: the transport of Apple's platforms, also available on Linux.
///
/// A streamed body is first written to a temporary file, because `URLSession` requires that the bytes can be read at once; each
/// element restarts the timeout of the request, and so does the end. On Apple's platforms, that holds for every body with a file
/// as well; a body of one file is cloned, where the volume has clones. `URLSession` joins header lines of one name and does not
/// keep their order; it does not send a `GET` with a body or a header value that is not UTF-8.
///
/// On Apple's platforms, it may add header lines that a request does not have, such as `User-Agent`, `Accept-Language`, and
/// `Content-Type: application/x-www-form-urlencoded` for a `POST` with a body; set the `Content-Type` of a body. While bytes of
/// a response are written to a file, its task is suspended, so that a slow disk slows the server. A request to a host with pinned
/// public keys may be sent before it fails, when the connection resumes a TLS session of another `URLSession` of the process.
/// A chunked body of HTTP/1.1 that ends between two chunks, without the last one, is accepted as complete. The beginning of a body
/// arrives only with 512 bytes or the end, unless its `Content-Type` is one that the system need not guess, such as
/// `application/json`, or the response has `X-Content-Type-Options: nosniff`. Header lines restart the timeout only when all of
/// them have arrived.
///
/// Use it on Linux only for trusted servers: there, the process crashes when a response has trailers, is truncated inside its head,
/// or redirects to an escaped or IPv6 host without a scheme; IPv6 literals, private certificate authorities and header lines
/// without a blank after the colon are refused; dot segments are resolved; a truncated compressed body is accepted as complete;
/// the limit of the header block and the timeout are not applied to a head before it is complete;
/// ``HTTPResponse/isMultiplexed`` is always `false`; and with libcurl 7.88.0 to 8.1, after a request has ended while it connects
/// (refused, reset, timed out or cancelled), another request may wait until its timeout, or until it is cancelled. Child processes
/// inherit the sockets: when one runs at that time, the process may crash.
package final class URLSessionTransport: HTTPTransport, HeadReporting {
    /// The limits of the configuration, and 100 exchanges on an HTTP/2 connection.
    package let capacity: TransportCapacity
    private let queues = URLSessionQueues()
    private let exchanges: URLSessionExchanges
    private let sessions: URLSessionPool
    private let pinnedKeys: PinnedKeys

    /// Creates a transport with the default configuration and a new session.
    package convenience init() {
        self.init(
            TransportConfiguration(),
            proxy: nil,
            pinnedKeys: PinnedKeys(),
            challenges: URLSessionChallenges()
        )
    }

    /// Creates a transport with a configuration and a new session, which has no cache, no cookies and no stored credentials.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a setting that is invalid, or that `URLSession` cannot apply on this
    ///   platform; the reason names it.
    package convenience init(_ configuration: TransportConfiguration) throws(TransportError) {
        try configuration.validateForURLSession()
        let pinnedKeys = try PinnedKeys(configuration.tls.pinnedPublicKeys)
        let challenges = try URLSessionChallenges(configuration.tls, pinnedKeys: pinnedKeys)
        let proxy = try configuration.proxy.server()
        self.init(configuration, proxy: proxy, pinnedKeys: pinnedKeys, challenges: challenges)
    }

    private init(
        _ configuration: TransportConfiguration,
        proxy: ProxyServer?,
        pinnedKeys: PinnedKeys,
        challenges: URLSessionChallenges
    ) {
        self.pinnedKeys = pinnedKeys
        capacity = TransportCapacity(of: configuration)
        exchanges = URLSessionExchanges(queues, challenges: challenges)
        sessions = URLSessionPool(configuration, proxy: proxy, pinnedKeys: pinnedKeys, delegate: exchanges)
    }

    deinit {
        sessions.invalidate()
    }

    /// Sends a request; see ``HTTPTransport/send(_:progress:)``.
    package func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        let clock = ExchangeClock()
        try request.validate()
        #if canImport(FoundationNetworking)
        try TransportConfiguration.Proxy.environment.checkEnvironment()
        #endif
        // Refuses a URL whose server cannot be authenticated by its keys.
        _ = try pinnedKeys.keys(for: request.url)
        guard request.body.isStoredForURLSession else {
            return try await send(request, progress: progress, clock: clock)
        }
        let body = try await StoredBody.make(of: request)
        defer { withExtendedLifetime(body) {} }
        var request = request
        // The deadline is that of both steps.
        request.deadline = request.deadline.map { $0 - clock.timings().total }
        request.body = HTTPBody(body.pieces)
        return try await send(request, progress: progress, clock: clock)
    }

    private func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?,
        clock: ExchangeClock
    ) async throws(TransportError) -> HTTPResponse {
        let exchange = try URLSessionExchange(request, progress: progress, queues: queues, clock: clock)
        let urlRequest = try URLRequest(exchange)
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchange.begin(continuation)
                queues.tasks.async { self.start(urlRequest, for: exchange) }
            }
        } onCancel: {
            exchange.fail(TransportError(.cancelled, "the task was cancelled"))
        }.get()
    }

    private func start(_ request: URLRequest, for exchange: URLSessionExchange) {
        guard !exchange.isEnded else { return }
        sessions.withTask(request, for: exchange) { task in
            exchanges.add(exchange, for: task)
            task.resume()
            if !exchange.attach(cancelTask: { task.cancel() }) { task.cancel() }
        }
    }
}

extension URLRequest {
    /// A timeout that is never reached, in seconds: the session's own timeouts are wrong on Linux.
    fileprivate static let never = 100 * 365 * 86_400.0

    fileprivate init(_ exchange: URLSessionExchange) throws(TransportError) {
        self.init(url: exchange.request.url)
        guard exchange.bodyBytes == 0 || exchange.request.method != .get else {
            throw TransportError(.invalidRequest, "URLSession cannot send a body with GET")
        }
        httpMethod = exchange.request.method.rawValue
        timeoutInterval = Self.never
        allowsCellularAccess = exchange.request.allowsCellularAccess
        allHTTPHeaderFields = try exchange.request.urlSessionFields(bodyBytes: exchange.bodyBytes)
    }
}

extension URLSessionConfiguration {
    static func errand() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.turnOffWhatErrandDoes()
        return configuration
    }

    /// Turns off cache, cookies, stored credentials, timeouts and the limit of connections.
    func turnOffWhatErrandDoes() {
        urlCache = nil
        httpCookieStorage = nil
        urlCredentialStorage = nil
        httpShouldSetCookies = false
        httpCookieAcceptPolicy = .never
        timeoutIntervalForRequest = URLRequest.never
        timeoutIntervalForResource = URLRequest.never
        // No limit: tasks would wait in the session's queue while their timeouts run.
        httpMaximumConnectionsPerHost = Int(Int32.max)
    }
}
