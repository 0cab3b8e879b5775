#if canImport(Darwin)
import Foundation
import Network
import Security

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

// Untested.
extension URLSessionConfiguration {
    /// Returns the configuration of a session with the settings of `configuration`, whose proxy server is `proxy`.
    static func errand(
        _ configuration: TransportConfiguration,
        proxy: ProxyServer?
    ) -> URLSessionConfiguration {
        let session = errand()
        session.tlsMinimumSupportedProtocolVersion = configuration.tls.minimumVersion == .v1_3 ? .TLSv13 : .TLSv12
        session.allowsCellularAccess = configuration.allowsCellularAccess
        session.allowsExpensiveNetworkAccess = configuration.allowsExpensiveNetworkAccess
        session.allowsConstrainedNetworkAccess = configuration.allowsConstrainedNetworkAccess
        // Without entries, there is no proxy server; `nil` would be those of the system.
        if case .none = configuration.proxy { session.connectionProxyDictionary = [:] }
        if let proxy { session.proxyConfigurations = [ProxyConfiguration(proxy)] }
        if let configure = configuration.configureSession {
            configure(session)
            session.turnOffWhatErrandDoes()
        }
        return session
    }
}

extension ProxyConfiguration {
    fileprivate init(_ server: ProxyServer) {
        let port = NWEndpoint.Port(rawValue: server.port) ?? .any
        let endpoint = NWEndpoint.hostPort(host: NWEndpoint.Host(server.host), port: port)
        switch server.kind {
        case .http: self.init(httpCONNECTProxy: endpoint)
        case .https: self.init(httpCONNECTProxy: endpoint, tlsOptions: NWProtocolTLS.Options())
        case .socks5: self.init(socksv5Proxy: endpoint)
        }
        // Never without the proxy server.
        allowFailover = false
        if let user = server.user { applyCredential(username: user, password: server.password ?? "") }
    }
}

// The callbacks that differ on Apple's platforms; each calls its completion handler once, also for a task whose exchange has
// ended. Untested.
extension URLSessionExchanges {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The redirect is then the response.
        completionHandler(nil)
    }

    /// Called also for the challenges of the connection, because there is no method for those of a session.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        challenges.respond(to: challenge, of: exchange(of: task), completionHandler)
    }

    /// The task is suspended while its bytes are written to a file, and while their receiver has no room, so that the session does
    /// not read ahead.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let exchange = exchange(of: dataTask) else { return }
        guard exchange.request.destination != .memory else { return exchange.receive(data) }
        dataTask.suspend()
        exchange.receive(data)
        if exchange.hasRoom(orCall: { dataTask.resume() }) { dataTask.resume() }
    }

    /// Called before `didCompleteWithError`.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        exchange(of: task)?.receiveTimings { $0.add(metrics.transactionMetrics) }
    }
}

extension HTTPBody {
    /// Whether a part is stored in a temporary file before it is sent: a file could change while it is sent, and a session reads
    /// several pieces only from one file.
    var isStoredForURLSession: Bool { pieces.contains { $0.data == nil } }
}

extension URLSession {
    /// Creates the task of an exchange, whose body is in memory or in one file; the session sends its length.
    func task(with request: URLRequest, for exchange: URLSessionExchange) -> URLSessionTask {
        guard exchange.bodyBytes > 0 else { return dataTask(with: request) }
        let pieces = exchange.request.body.pieces
        if case .file(let file) = pieces.first { return uploadTask(with: request, fromFile: file) }
        let parts = pieces.compactMap(\.data)
        // A single part is not copied.
        return uploadTask(with: request, from: parts.count == 1 ? parts[0] : Data(parts.joined()))
    }
}

// Untested.
extension ExchangeTimings {
    /// Adds what the session has measured of the transactions of one request, in their order.
    ///
    /// There are several when the session has sent the request again: the phases of all are added, and the rest is that of the
    /// last one, which has the final response.
    mutating func add(_ transactions: [URLSessionTaskTransactionMetrics]) {
        guard let last = transactions.last else { return }
        var rest = total
        for transaction in transactions { addPhases(of: transaction, atMost: &rest) }
        sentHeaderBytes = last.countOfRequestHeaderBytesSent
        sentBodyBytes = last.countOfRequestBodyBytesSent
        receivedHeaderBytes = last.countOfResponseHeaderBytesReceived
        receivedBodyBytes = last.countOfResponseBodyBytesReceived
        protocolName = last.networkProtocolName
        remoteAddress = last.remoteAddress
        remotePort = last.remotePort
        connectionID = last.localPort.map { String($0) }
        isReused = last.isReusedConnection
    }

    /// Adds the phases of a transaction; each is limited to what those before have left of ``total``.
    private mutating func addPhases(of metrics: URLSessionTaskTransactionMetrics, atMost rest: inout Duration) {
        func add(_ phase: inout Duration?, from start: Date?, to end: Date?) {
            guard let start, let end else { return }
            let length = min(max(.zero, .seconds(end.timeIntervalSince(start))), rest)
            rest -= length
            phase = (phase ?? .zero) + length
        }
        let (tlsStart, head) = (metrics.secureConnectionStartDate, metrics.responseStartDate)
        // A server may respond before it has received the whole request.
        let requestEnd = metrics.requestEndDate.map { min($0, head ?? $0) }
        add(&nameLookup, from: metrics.domainLookupStartDate, to: metrics.domainLookupEndDate)
        // The end of the connection is that of TLS.
        add(&connect, from: metrics.connectStartDate, to: tlsStart ?? metrics.connectEndDate)
        add(&tls, from: tlsStart, to: metrics.secureConnectionEndDate)
        add(&request, from: metrics.requestStartDate, to: requestEnd)
        add(&firstByte, from: requestEnd, to: head)
        add(&body, from: head, to: metrics.responseEndDate)
    }
}
#endif
