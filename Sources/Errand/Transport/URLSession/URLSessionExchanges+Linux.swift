#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

// The callbacks that differ on Linux.
extension URLSessionExchanges {
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
        exchange(of: task)?.refuseChallenge()
        queues.tasks.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(exchange(of: task)?.replayedBodyStream())
    }
}

/// What answers challenges on Apple's platforms; every challenge is refused on Linux, where the only ones are those of an answer.
struct URLSessionChallenges: Sendable {
    let record = TrustRecord()

    init() {}

    init(_ configuration: TLSConfiguration, pinnedKeys: PinnedKeys) throws(TransportError) {}
}
#endif
