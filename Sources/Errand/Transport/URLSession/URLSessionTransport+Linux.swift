#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

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

    func withTask(_ request: URLRequest, for exchange: URLSessionExchange, _ start: (URLSessionTask) -> Void) {
        // libcurl repeats a request without a body when a connection that was used before is lost.
        let needsFreshConnection = exchange.bodyBytes == 0 && !exchange.request.method.isIdempotent
        var request = request
        if exchange.bodyBytes > 0 { request.httpBodyStream = URLSessionBodyStream(exchange) }
        guard needsFreshConnection else { return start(session.dataTask(with: request)) }
        let fresh = delegate.makeSession(session.configuration)
        start(fresh.dataTask(with: request))
        fresh.finishTasksAndInvalidate()
    }

    func invalidate() {
        session.finishTasksAndInvalidate()
    }
}

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

/// What meets challenges on Apple's platforms; every challenge is refused on Linux, where the only ones are those of a
/// response.
struct URLSessionChallenges: Sendable {
    let record = TrustRecord()

    init() {}

    init(_ configuration: TLSConfiguration, pinnedKeys: PinnedKeys) throws(TransportError) {}
}

extension HTTPBody {
    /// Whether a part is stored in a temporary file before it is sent: the bytes of a body are read at once.
    var isStoredForURLSession: Bool { isStreamed }
}

extension URLSessionExchange {
    /// Returns the body for a further attempt, after a persistent connection was lost; it fails for a request that is not
    /// idempotent.
    fileprivate func replayedBodyStream() -> InputStream? {
        if request.method.isIdempotent {
            rewindBody()
        } else {
            closeBody()
            fail(TransportError(.connectionLost, "the connection was lost during the request"))
        }
        return URLSessionBodyStream(self)
    }
}

/// A request's body in the form that `URLSession` requires: read on demand, on the session's queue.
///
/// The exchange owns what is read, because a session may keep the stream when the task has ended.
private final class URLSessionBodyStream: InputStream {
    private weak var exchange: URLSessionExchange?
    private var status = Stream.Status.notOpen

    init(_ exchange: URLSessionExchange) {
        self.exchange = exchange
        super.init(data: Data())
    }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
    }

    override var streamStatus: Stream.Status { status }

    override var streamError: (any Error)? { nil }

    /// Always true: the Linux session considers the body complete when it is `false`.
    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        exchange?.readBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: maxLength)) ?? -1
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }
}
#endif
