import Dispatch
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests through Foundation's `URLSession`: the transport of Apple's platforms, also available on Linux.
///
/// A streamed body is first written to a temporary file, because `URLSession` requires that the bytes can be read at once; each
/// element restarts the timeout of the request, and so does the end. `URLSession` joins header lines of one name and does not
/// keep their order; it does not send a `GET` with a body or a header value that is not UTF-8. Use it on Linux only for trusted servers: there, the process crashes when an answer has
/// trailers, is truncated inside its head, or redirects to an escaped or IPv6 host without a scheme; IPv6 literals, private
/// certificate authorities and header lines without a blank after the colon are refused; dot segments are resolved; a
/// truncated compressed body is accepted as complete; the limit of the header block and the timeout are not applied to a head
/// before it is complete; and ``HTTPResponse/isMultiplexed`` is always `false`.
public final class URLSessionTransport: HTTPTransport {
    /// The limits of the configuration, and 100 exchanges on an HTTP/2 connection.
    public let capacity: TransportCapacity
    private let session: URLSession
    private let queues = URLSessionQueues()
    private let exchanges: URLSessionExchanges

    /// Creates a transport with the default configuration and a new session.
    public convenience init() {
        self.init(validated: TransportConfiguration())
    }

    /// Creates a transport with a configuration and a new session, which has no cache, no cookies and no stored credentials.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a setting that is invalid, or that `URLSession` cannot apply on this
    ///   platform; the reason names it.
    public convenience init(_ configuration: TransportConfiguration) throws(TransportError) {
        try configuration.validateForURLSession()
        self.init(validated: configuration)
    }

    private init(validated configuration: TransportConfiguration) {
        capacity = TransportCapacity(of: configuration)
        exchanges = URLSessionExchanges(queues)
        session = exchanges.makeSession(.errand())
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Sends a request; see ``HTTPTransport/send(_:progress:)``.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        let clock = ExchangeClock()
        try request.validate()
        guard request.body.isStreamed else { return try await send(request, progress, clock) }
        return try await sendFiles(of: request, progress, clock)
    }

    private func send(
        _ request: HTTPRequest,
        _ progress: TransferProgress.Handler?,
        _ clock: ExchangeClock
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

    /// Sends a request with its streams in temporary files.
    private func sendFiles(
        of request: HTTPRequest,
        _ progress: TransferProgress.Handler?,
        _ clock: ExchangeClock
    ) async throws(TransportError) -> HTTPResponse {
        let body = try await StoredBody.make(of: request)
        defer { withExtendedLifetime(body) {} }
        var request = request
        // The deadline is that of both steps.
        request.deadline = request.deadline.map { $0 - clock.timings().total }
        request.body = HTTPBody(body.pieces)
        return try await send(request, progress, clock)
    }

    private func start(_ urlRequest: URLRequest, for exchange: URLSessionExchange) {
        guard !exchange.isEnded else { return }
        guard exchange.needsFreshConnection else { return start(urlRequest, for: exchange, in: session) }
        let fresh = exchanges.makeSession(session.configuration)
        start(urlRequest, for: exchange, in: fresh)
        fresh.finishTasksAndInvalidate()
    }

    private func start(_ urlRequest: URLRequest, for exchange: URLSessionExchange, in session: URLSession) {
        let task = session.dataTask(with: urlRequest)
        exchanges.add(exchange, for: task)
        task.resume()
        if !exchange.attach(cancelTask: { task.cancel() }) { task.cancel() }
    }
}

/// The session's delegate, which passes each callback to the exchange of the task.
///
/// All methods are in this class: methods of a subclass are not called on Linux.
private final class URLSessionExchanges: NSObject, URLSessionDataDelegate {
    private let queues: URLSessionQueues
    private let exchanges = Mutex<[ObjectIdentifier: URLSessionExchange]>([:])

    init(_ queues: URLSessionQueues) {
        self.queues = queues
    }

    func makeSession(_ configuration: URLSessionConfiguration) -> URLSession {
        let operations = OperationQueue()
        operations.underlyingQueue = queues.callbacks
        operations.maxConcurrentOperationCount = 1
        return URLSession(configuration: configuration, delegate: self, delegateQueue: operations)
    }

    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
        exchanges.withLock { $0[ObjectIdentifier(task)] = exchange }
    }

    private func exchange(of task: URLSessionTask) -> URLSessionExchange? {
        exchanges.take { $0[ObjectIdentifier(task)] }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let exchange = exchange(of: task) else { return }
        queues.tasks.async {
            // Calling the handler after the task was cancelled crashes the process on Linux.
            if !exchange.isEnded { completionHandler(nil) }
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        exchange(of: task)?.refuseChallenge()
        queues.tasks.async { completionHandler(.cancelAuthenticationChallenge, nil) }
        #else
        completionHandler(.performDefaultHandling, nil)
        #endif
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(exchange(of: task)?.replayedBodyStream())
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.didSend(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchange(of: dataTask)?.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let ended = exchanges.take { $0.removeValue(forKey: ObjectIdentifier(task)) }
        guard let exchange = ended else { return }
        if error == nil { exchange.receiveIfMissing(task.response) }
        exchange.complete(error.map { TransportError(urlSessionError: $0 as NSError, of: exchange.request) })
    }

    #if !canImport(FoundationNetworking)
    // Untested. Called before `didCompleteWithError`; the last transaction is the one with the final answer.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        if let metrics = metrics.transactionMetrics.last { exchange(of: task)?.receive(metrics) }
    }
    #endif
}

extension URLSessionConfiguration {
    /// Returns a configuration without a cache, cookies and stored credentials.
    fileprivate static func errand() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.timeoutIntervalForRequest = URLRequest.never
        // No limit: tasks would wait in the session's queue while their timeouts run.
        configuration.httpMaximumConnectionsPerHost = Int(Int32.max)
        return configuration
    }
}

extension URLSessionExchange {
    /// Whether the request needs a new connection: on Linux, libcurl repeats a request without a body when a connection that
    /// was used before is lost.
    fileprivate var needsFreshConnection: Bool {
        #if canImport(FoundationNetworking)
        bodyBytes == 0 && !request.method.isIdempotent
        #else
        false
        #endif
    }

    /// Receives a head; interim answers (1xx) are ignored.
    fileprivate func receive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse, response.statusCode >= 200 else { return }
        receive(status: response.statusCode, headers: HTTPHeaders(urlSessionFields: response.allHeaderFields))
    }

    /// Receives the head of a redirect without a `Location`, for which there is no callback.
    fileprivate func receiveIfMissing(_ response: URLResponse?) {
        if isWaitingForHead, let response { receive(response) }
    }
}

extension URLRequest {
    /// A timeout that is never reached, in seconds: the session's own timeouts are wrong on Linux.
    fileprivate static let never = 86_400.0

    fileprivate init(_ exchange: URLSessionExchange) throws(TransportError) {
        self.init(url: exchange.request.url)
        httpMethod = exchange.request.method.rawValue
        timeoutInterval = Self.never
        allHTTPHeaderFields = try exchange.request.urlSessionFields(bodyBytes: exchange.bodyBytes)
        httpBodyStream = try exchange.bodyStream()
    }
}
