import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of the sessions, which passes each callback to the exchange of the task.
///
/// What differs is in a file of each platform: redirects, challenges and the bytes of responses. Methods of a subclass are not
/// called on Linux.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate {
    let queues: URLSessionQueues
    let challenges: URLSessionChallenges
    private let exchanges = Lock<[ObjectIdentifier: URLSessionExchange]>([:])

    init(_ queues: URLSessionQueues, challenges: URLSessionChallenges) {
        self.queues = queues
        self.challenges = challenges
    }

    func makeSession(_ configuration: URLSessionConfiguration) -> URLSession {
        let operations = OperationQueue()
        operations.underlyingQueue = queues.callbacks
        operations.maxConcurrentOperationCount = 1
        return URLSession(configuration: configuration, delegate: self, delegateQueue: operations)
    }

    /// Adds the exchange of a task, before the task is resumed.
    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
        exchanges.withLock { $0[ObjectIdentifier(task)] = exchange }
    }

    /// Returns the exchange of a task that has not ended.
    func exchange(of task: URLSessionTask) -> URLSessionExchange? {
        exchanges.withLock { $0[ObjectIdentifier(task)] }
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
        exchange(of: dataTask)?.receive(response, checkedBy: challenges.record)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let ended = exchanges.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
        guard let exchange = ended else { return }
        // There is no callback for the head of a redirect without a `Location`.
        if error == nil, exchange.isWaitingForHead, let response = task.response {
            exchange.receive(response, checkedBy: challenges.record)
        }
        exchange.complete(error.map { self.error($0 as NSError, of: exchange.request) })
    }

    private func error(_ error: NSError, of request: HTTPRequest) -> TransportError {
        TransportError(urlSessionError: error, of: request, refusal: challenges.record.refusal(of: request.url))
    }
}

extension URLSessionExchange {
    /// Receives a head whose server is accepted; interim responses (1xx) are ignored.
    fileprivate func receive(_ response: URLResponse, checkedBy record: TrustRecord) {
        guard let response = response as? HTTPURLResponse, response.statusCode >= 200 else { return }
        do throws(TransportError) {
            try record.checkResponse(of: request.url)
        } catch {
            return fail(error)
        }
        receive(status: response.statusCode, headers: HTTPHeaders(urlSessionFields: response.allHeaderFields))
    }
}
