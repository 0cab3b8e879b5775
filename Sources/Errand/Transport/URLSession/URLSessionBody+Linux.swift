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
        guard bodyBytes > 0 else { return nil }
        return URLSessionBodyStream(request.body, length: bodyBytes) { [weak self] in self?.fail($0) }
    }

    /// Returns the body for a further attempt, after a persistent connection was lost; it fails for a request that is not
    /// idempotent.
    func replayedBodyStream() -> InputStream? {
        let body = request.method.isIdempotent ? request.body : nil
        return URLSessionBodyStream(body, length: bodyBytes) { [weak self] in self?.fail($0) }
    }
}

/// A request's body in the form that `URLSession` requires: read on demand, on the session's queue.
private final class URLSessionBodyStream: InputStream {
    private var reader: HTTPBodyReader?
    private var status = Stream.Status.notOpen
    private let failed: @Sendable (TransportError) -> Void

    /// Creates a stream of `body`; without one, or when its length has changed, reading it fails.
    init(_ body: HTTPBody?, length: Int64, failed: @escaping @Sendable (TransportError) -> Void) {
        self.failed = failed
        super.init(data: Data())
        do throws(TransportError) {
            reader = try Self.reader(of: body, length: length)
        } catch {
            failed(error)
        }
    }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
        reader = nil
    }

    override var streamStatus: Stream.Status { status }

    override var streamError: (any Error)? { nil }

    /// Always true: the Linux session considers the body complete when it is `false`.
    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        do throws(TransportError) {
            return try reader?.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: maxLength)) ?? -1
        } catch {
            failed(error)
            return -1
        }
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }

    private static func reader(of body: HTTPBody?, length: Int64) throws(TransportError) -> HTTPBodyReader {
        guard let body else { throw TransportError(.connectionLost, "the connection was lost during the request") }
        let reader = try HTTPBodyReader(body)
        guard reader.totalBytes == length else { throw TransportError(.storage, "the body changed while it was sent") }
        return reader
    }
}
#endif
