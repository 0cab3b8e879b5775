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
        // The redirect is then the answer.
        completionHandler(nil)
    }

    /// Called also for the challenges of the connection, because there is no method for those of a session.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        challenges.answer(challenge, of: exchange(of: task), completionHandler)
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
#endif
