#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking

extension HTTPBody {
    /// Whether a part is stored in a temporary file before it is sent: the bytes of a body are read at once.
    var isStoredForURLSession: Bool { isStreamed }
}

extension URLSession {
    /// Creates the task of an exchange.
    func task(with request: URLRequest, for exchange: URLSessionExchange) -> URLSessionTask {
        var request = request
        request.httpBodyStream = exchange.bodyStream()
        return dataTask(with: request)
    }
}

extension URLSessionExchange {
    /// Returns the body for the first attempt; `nil` without one.
    fileprivate func bodyStream() -> InputStream? {
        bodyBytes > 0 ? URLSessionBodyStream(self) : nil
    }

    /// Returns the body for a further attempt, after a persistent connection was lost; it fails for a request that is not
    /// idempotent.
    func replayedBodyStream() -> InputStream? {
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
