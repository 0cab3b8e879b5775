#if os(Linux)
import Foundation

/// One request on its way: what libcurl reads from it, what it writes to it, and how it ended.
// The caller makes it, the loop's thread alone uses it from its submission to its end, the caller reads it after that.
final class CurlExchange: @unchecked Sendable {
    /// Where an exchange stands; only the loop's thread looks.
    enum Stage {
        case new
        case running(CurlHandle)
        case ended
    }

    let request: HTTPRequest
    let headerList: CurlHeaderList
    let bodyBytes: Int64
    var stage = Stage.new
    /// The place among the running exchanges.
    var index = 0
    var continuation: UnsafeContinuation<Void, Never>?
    private(set) var lastMove: CurlClock.Instant
    let deadline: CurlClock.Instant?

    private let progress: TransferProgress.Handler?
    private let idleTimeout: CurlClock.Instant?
    private var reader: HTTPBodyReader
    private var writer: HTTPBodyWriter?
    private var block = CurlHeaderBlock()
    private var failure: TransportError?
    private var attempts = 0
    private var sentBytes: Int64 = 0
    private var receivedBytes: Int64 = 0

    /// Prepares `request`, of which nothing is opened but the files of its body.
    init(_ request: HTTPRequest, progress: TransferProgress.Handler?) throws(TransportError) {
        self.request = request
        self.progress = progress
        reader = try HTTPBodyReader(request.body)
        bodyBytes = reader.totalBytes
        headerList = CurlHeaderList(request.headers)
        let now = CurlClock.now
        lastMove = now
        deadline = request.timeout.map { now + $0.nanoseconds }
        idleTimeout = request.idleTimeout.map { $0.nanoseconds }
    }

    /// The next instant at which the exchange may have to end.
    var nextDeadline: CurlClock.Instant? {
        guard let idleTimeout else { return deadline }
        return min(deadline ?? .max, lastMove + idleTimeout)
    }

    /// Whether libcurl gets the body as a whole, which costs one system call less than handing it over in parts.
    var sendsBodyFromMemory: Bool {
        progress == nil && bodyBytes <= 65_536
    }

    // MARK: libcurl's questions

    /// Hears that a connection is ready for the request; `false` ends the exchange.
    func connectionIsReady() -> Bool {
        move()
        attempts += 1
        // A second attempt means that the server may have seen the first one.
        guard attempts == 1 || request.method.isIdempotent && attempts == 2 else {
            return fail(TransportError(.connectionLost, "the connection ended before the answer began"))
        }
        return true
    }

    /// Takes one header line; `false` ends the exchange.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        move()
        block.append(line)
        guard block.receivedBytes <= request.limits.headerBytes else {
            let text = "the header block is larger than \(request.limits.headerBytes) bytes"
            return fail(TransportError(.responseTooLarge, text))
        }
        return true
    }

    /// Takes decoded bytes of the answer's body; `false` ends the exchange.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        move()
        do throws(TransportError) {
            try makeWriter()
            try writer?.append(bytes)
        } catch {
            return fail(error)
        }
        receivedBytes += Int64(bytes.count)
        progress?(TransferProgress(.download, completedBytes: receivedBytes, totalBytes: nil))
        return true
    }

    /// Fills `buffer` with the next bytes of the request's body; `nil` ends the exchange.
    func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        move()
        do throws(TransportError) {
            let count = try reader.read(into: buffer)
            sentBytes += Int64(count)
            if count > 0 {
                progress?(TransferProgress(.upload, completedBytes: sentBytes, totalBytes: bodyBytes))
            }
            return count
        } catch {
            _ = fail(error)
            return nil
        }
    }

    /// The whole body of the request.
    func wholeBody() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(bodyBytes)) { buffer, count in
            count = sendBody(into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
        }
    }

    /// Goes back to the first byte of the request's body; `false` ends the exchange.
    func rewindBody() -> Bool {
        guard request.method.isIdempotent || sentBytes == 0 else { return false }
        reader.rewind()
        sentBytes = 0
        return true
    }

    // MARK: The end

    /// Notes how the transfer ended, unless a reason is known already.
    func close(_ code: CurlCode, reason: @autoclosure () -> String, systemError: @autoclosure () -> Int) {
        guard failure == nil else { return }
        guard code == .success else {
            failure = TransportError(code.kind(systemError: systemError()), reason())
            return
        }
        guard block.isComplete else {
            failure = TransportError(.connectionLost, "the connection ended inside the header block")
            return
        }
    }

    /// Notes why the exchange has to end, unless a reason is known already; answers `false`.
    @discardableResult
    func fail(_ error: TransportError) -> Bool {
        failure = failure ?? error
        return false
    }

    /// The answer, once the exchange has ended.
    func response() throws(TransportError) -> HTTPResponse {
        if let failure { throw failure }
        try makeWriter()
        let file = try writer?.finish()
        return HTTPResponse(
            status: block.status,
            headers: block.headers(),
            body: writer?.body ?? Data(),
            file: file
        )
    }

    private func makeWriter() throws(TransportError) {
        guard writer == nil else { return }
        writer = try HTTPBodyWriter(request, status: block.status, expected: nil)
    }

    private func move() {
        guard idleTimeout != nil else { return }
        lastMove = CurlClock.now
    }
}
#endif
