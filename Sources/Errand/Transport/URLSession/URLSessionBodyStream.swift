import Foundation

extension URLSessionExchange {
    /// The body of the first attempt; `nil` without one.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` for a `GET`, with which `URLSession` sends none.
    func bodyStream() throws(TransportError) -> InputStream? {
        guard bodyBytes > 0 else { return nil }
        guard request.method != .get else {
            throw TransportError(.invalidRequest, "URLSession cannot send a body with GET")
        }
        return URLSessionBodyStream(request.body, length: bodyBytes) { [weak self] in self?.fail($0) }
    }

    /// The body of a further attempt, after a kept connection died under the first; what could act twice is refused.
    func replayedBodyStream() -> InputStream? {
        let body = request.method.isIdempotent ? request.body : nil
        return URLSessionBodyStream(body, length: bodyBytes) { [weak self] in self?.fail($0) }
    }
}

/// A request's body as `URLSession` wants it: read on demand, on the session's own queue.
private final class URLSessionBodyStream: InputStream {
    private var reader: HTTPBodyReader?
    private var status = Stream.Status.notOpen
    private let failed: @Sendable (TransportError) -> Void

    /// Streams `body`; without one, or when it has not this `length` any more, every attempt to read it fails.
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

    /// Always true: with `false` the Linux session takes the body for complete.
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

    #if canImport(Darwin)
    // Untested. CFNetwork sends these to every stream, and a subclass inherits none that works.
    override func property(forKey key: Stream.PropertyKey) -> Any? { nil }

    override func setProperty(_ property: Any?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    @objc(_scheduleInCFRunLoop:forMode:)
    func scheduleInCFRunLoop(_ runLoop: CFRunLoop, mode: CFString) {}

    @objc(_unscheduleFromCFRunLoop:forMode:)
    func unscheduleFromCFRunLoop(_ runLoop: CFRunLoop, mode: CFString) {}

    @objc(_setCFClientFlags:callback:context:)
    func setCFClientFlags(_ flags: CFOptionFlags, callback: OpaquePointer?, context: OpaquePointer?) -> Bool {
        false
    }
    #endif

    private static func reader(of body: HTTPBody?, length: Int64) throws(TransportError) -> HTTPBodyReader {
        guard let body else { throw TransportError(.connectionLost, "the connection died under the request") }
        let reader = try HTTPBodyReader(body)
        guard reader.totalBytes == length else { throw TransportError(.storage, "the body changed while it was sent") }
        return reader
    }
}
