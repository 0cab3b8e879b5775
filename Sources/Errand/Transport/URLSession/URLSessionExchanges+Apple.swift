#if canImport(Darwin)
import Foundation

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

    /// The task is suspended while its bytes are written to a file, so that the session does not read ahead of a slow disk.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let exchange = exchange(of: dataTask) else { return }
        guard exchange.request.destination != .memory else { return exchange.receive(data) }
        dataTask.suspend()
        defer { dataTask.resume() }
        exchange.receive(data)
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
#endif
