#if os(Linux)
import CurlRuntime
import Foundation
import Synchronization

/// One request and its response, and the data that libcurl reads and writes for them.
// Used by the caller until it is submitted, then only on the loop's thread until it has ended, then by the caller again.
final class CurlExchange: @unchecked Sendable {
    /// Used only on the loop's thread.
    enum Stage {
        case new
        case running(CurlHandle)
        case ended
    }

    /// The timeouts, in nanoseconds, of an upload whose complete response has been received before the body was sent.
    private static let earlyResponseTimeout: Int64 = 500_000_000
    private static let earlySuccessTimeout: Int64 = 5_000_000_000
    private static let earlySuccessTimeoutOfStream: Int64 = 60_000_000_000
    /// In nanoseconds.
    private static let resumptionInterval: Int64 = 100_000_000

    let request: HTTPRequest
    let url: CurlURL
    let headerList: CurlHeaderList
    let pins: [String]
    var stage = Stage.new
    var host: CurlHost?
    var index = 0
    var continuation: UnsafeContinuation<Void, Never>?
    private(set) var upload: CurlUpload
    private(set) var attempts = 0
    // What each line changes is not checked at run time: libcurl's callbacks do not nest, and no code of an app has the exchange.
    @exclusivity(unchecked) private(set) var received: CurlResponse
    @exclusivity(unchecked) private(set) var marks = CurlMarks()
    // Boxed, because it is large, and empty while the exchange is running.
    private var timings: Boxed<ExchangeTimings>?
    private var isMultiplexed = false
    private var reported: ReportedEvents
    private var failure: TransportError?
    @exclusivity(unchecked) var deadlines: ExchangeDeadlines
    /// Whether the end of the time limits is no error, because nothing that is still to come is needed.
    private var hasEarlyResponse = false
    /// When the loop resumes the upload of a refused request; `.max` for never.
    private(set) var nextResumption = MonotonicClock.Instant.max
    var isPostponed = false
    private var turn: CurlTurn?
    /// Resumes a transfer that waits for the bytes of a stream, or for the receiver of one; `nil` for a request without streams.
    private var loop: CurlLoop?
    @exclusivity(unchecked) private var budget = (decoding: DecodingBudget(), turn: 0)
    private let isComplete = Atomic(false)

    /// `request` has passed its validation; starts its deadlines.
    init(_ request: HTTPRequest, pins: [String] = [], progress: TransferProgress.Handler?) throws(TransportError) {
        (self.request, self.pins) = (request, pins)
        url = CurlURL(request.url)
        upload = try CurlUpload(request, progress: progress)
        headerList = CurlHeaderList(request.headers, hasBody: upload.hasBody)
        received = CurlResponse(to: request, progress: progress)
        deadlines = ExchangeDeadlines(request)
        reported = ReportedEvents(request)
    }

    var handle: CurlHandle? {
        if case .running(let handle) = stage { handle } else { nil }
    }

    /// Returns whether that is still to be reported.
    @discardableResult func reportSent() -> Bool {
        if reported.awaitsSent, let handle, isSent(on: handle), reported.addSent() { request.observer?(.sent) }
        return reported.awaitsSent
    }

    /// libcurl counts the bytes of a `CONNECT` to a proxy server as well, before the connection to the server is ready.
    func isSent(on handle: CurlHandle) -> Bool {
        guard handle.isConnected, handle.easy.number(.requestSize) > marks.earlierRequestBytes else { return false }
        return upload.isComplete(after: handle.easy.size(.sizeUpload) ?? 0)
    }

    func begin(in turn: CurlTurn, of loop: CurlLoop) {
        self.turn = turn
        if request.body.isStreamed || request.isResponseStreamed { self.loop = loop }
        // What it waited for the loop was no silence of a server.
        deadlines.restartTimeout(at: turn.start)
        turn.setAlarm(deadlines.next)
        beginTransfer()
    }

    /// Called when the loop gives the transfer to libcurl, for which it may be started again.
    func beginTransfer() {
        marks.transferBegan = turn?.start ?? 0
    }

    // MARK: Callbacks of libcurl

    /// Called before the request is sent on a connection; `false` ends the exchange.
    func beginAttempt() -> Bool {
        guard !received.block.isComplete else {
            // libcurl sends a request with `Expect: 100-continue` again after a 417. It also does when an HTTP/2 server resets
            // the stream with `HTTP_1_1_REQUIRED`, in the middle of a response.
            if received.block.status != 417, !received.isFollowed, !received.isWhole {
                fail(TransportError(.connectionLost, "the stream was reset before the response was complete"))
            }
            return false
        }
        let isDone: Void? = perform { exchange throws(TransportError) in
            exchange.attempts += 1
            exchange.marks.beginRequest(of: exchange)
            guard exchange.attempts <= exchange.allowedAttempts else { throw Self.lostRequest }
            // libcurl does not rewind a body of which it has read something, but sent nothing, to an HTTP/2 server that refuses it.
            guard exchange.upload.isUnread || exchange.rewindBody() else { throw Self.lostRequest }
        }
        return isDone != nil
    }

    private static var lostRequest: TransportError {
        TransportError(.connectionLost, "the connection ended before a response began")
    }

    /// How often the request may be sent.
    ///
    /// libcurl repeats a request when its connection was lost and when an HTTP/2 server refused its stream (RFC 9113 section
    /// 8.7), but does not report which: in the former case, the server may have processed the request. A server that refuses
    /// a stream may refuse the next one as well, so libcurl's own limit applies to HTTP/2.
    private var allowedAttempts: Int {
        guard request.method.isIdempotent else { return 1 }
        return host?.isMultiplexed == true ? .max : 2
    }

    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        let isDone: Void? = perform { exchange throws(TransportError) in
            exchange.marks.receiveLine()
            try exchange.received.receive(headerLine: line)
            if exchange.received.isFollowed {
                exchange.expectEarlyResponse { $0.limitDeadline(to: ExchangeDeadlines.ofRedirect) }
            }
            guard exchange.reported.awaitsHead, exchange.received.block.isComplete else { return }
            exchange.reportSent()
            if exchange.reported.addHead() { exchange.request.observer?(exchange.received.head()) }
        }
        return isDone != nil && !received.isUnreadable
    }

    /// Returns the number of bytes when all are taken, or else what pauses the transfer or ends the exchange.
    ///
    /// After a pause, the loop resumes the transfer later, and libcurl passes the same bytes again.
    func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        if let turn, turn.number != budget.turn { budget = (DecodingBudget(), turn.number) }
        let write = perform { exchange throws(TransportError) in
            try exchange.received.receive(
                body: bytes,
                within: &exchange.budget.decoding,
                hasRoom: exchange.resumption
            )
        }
        switch write {
        case .complete: return bytes.count
        case .exceedsTurn: turn?.postpone(self)
        case .awaitsRoom: deadlines.pauseTimeout()
        case .endsExchange, nil: return CurlValue.writeError
        }
        return CurlValue.pause
    }

    /// Called when the loop resumes the transfer.
    func willResume() {
        guard let turn else { return }
        deadlines.resumeTimeout(at: turn.start)
        let isRefused = nextResumption < .max && upload.isIncomplete
        nextResumption = isRefused ? turn.start + Self.resumptionInterval : .max
        turn.setAlarm(min(deadlines.next, nextResumption))
    }

    /// Returns the number of bytes, 0 at the end, or else what pauses the transfer until there are bytes, or ends the exchange.
    func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let former = deadlines
        let read = perform { exchange throws(TransportError) in
            try exchange.upload.read(into: buffer, ready: exchange.resumption) ?? CurlValue.pause
        }
        // A stream that has no bytes is no activity.
        if read == CurlValue.pause, nextResumption < .max { deadlines = former }
        return read ?? CurlValue.readAbort
    }

    private var resumption: @Sendable () -> Void {
        { [weak self, loop] in
            if let self { loop?.resume(self) }
        }
    }

    /// Called before libcurl sends the request again; `false` ends the exchange.
    func rewindBody() -> Bool {
        if upload.rewind(isRepeatable: request.method.isIdempotent) { return true }
        // libcurl's message names the callback.
        if !received.block.isComplete { fail(Self.lostRequest) }
        return false
    }

    /// Returns `nil` after a failure.
    private func perform<Value>(_ step: (CurlExchange) throws(TransportError) -> Value) -> Value? {
        if let turn {
            turn.activity.receiveCall()
            deadlines.restartTimeout(at: turn.start)
        }
        do throws(TransportError) {
            let value = try step(self)
            if upload.isIncomplete {
                if received.isWholeOverHTTP2 { limitUpload() }
                if received.refusesUpload { resumeUpload() }
            }
            return value
        } catch {
            fail(error)
            return nil
        }
    }

    /// Limits the timeout of an upload whose response is complete: libcurl 7.88 waits forever for an HTTP/2 server that has
    /// responded and does not receive the rest of the body.
    private func limitUpload() {
        // After a success, the server may read on, and the app have more to send.
        let timeout = request.body.isStreamed ? Self.earlySuccessTimeoutOfStream : Self.earlySuccessTimeout
        let limit = received.refusesUpload ? Self.earlyResponseTimeout : timeout
        expectEarlyResponse { $0.limitTimeout(to: limit) }
    }

    private func expectEarlyResponse(_ limit: (inout ExchangeDeadlines) -> Void) {
        guard !hasEarlyResponse else { return }
        hasEarlyResponse = true
        limit(&deadlines)
        turn?.setAlarm(deadlines.next)
    }

    /// Has the loop resume an upload that waits for its stream although the server has refused it: while it is paused, libcurl
    /// does not end the response, whose last byte may come at any time.
    private func resumeUpload() {
        guard let turn, request.body.isStreamed, nextResumption == .max else { return }
        nextResumption = turn.start
        turn.setAlarm(nextResumption)
    }

    // MARK: The end

    /// The first error counts.
    func fail(_ error: TransportError) {
        failure = failure ?? error
    }

    var hasFailed: Bool { failure != nil }
    /// Whether libcurl was to send the request again after its response, could not receive the rest of a redirect, or not send the
    /// rest of a body to a server that has responded (RFC 9113 section 8.1).
    func isAnswered(before code: CurlCode) -> Bool {
        guard !hasFailed, received.block.isComplete else { return false }
        if code == .http2Stream, isRefused { return true }
        return code == .abortedByCallback || received.isFollowed || received.isWhole
    }
    /// Whether the server has responded with an error before the body was sent: what has arrived of it is the response.
    private var isRefused: Bool { received.mayBeWholeError && handle.map(isSent) == false }
    /// Whether it has ended while nothing arrived: a load whose own deadline is over is cancelled.
    func hasFallenSilent(at now: MonotonicClock.Instant) -> Bool {
        switch failure?.kind {
        case .timeout: true
        case .cancelled: !received.hasBegun && deadlines.silence(at: now) >= Self.longSilence
        default: false
        }
    }

    /// In nanoseconds; a shorter wait for a response says nothing about the connection.
    private static var longSilence: Int64 { 2_000_000_000 }

    func expire(at now: MonotonicClock.Instant) {
        guard !hasEarlyResponse, !received.isWhole, !isRefused else { return succeed() }
        if let error = deadlines.error(at: now) { fail(error) }
    }

    /// Restarts the timeout while the system sends what it has taken of an upload; `false` when it is over.
    func isSending(at now: MonotonicClock.Instant) -> Bool {
        guard !hasEarlyResponse, upload.hasBody, let handle, let sending = handle.sending,
            !mayAwaitWindow || upload.isMoving(libcurlSent: handle.easy.size(.sizeUpload) ?? 0, on: sending)
        else { return false }
        deadlines.moveTimeout(to: now - sending.silence)
        return now < deadlines.next
    }

    /// libcurl sends no body of unknown length on a connection whose last response was one of HTTP/1.0, but may choose it.
    var needsNewConnection: Bool { upload.hasBody && upload.totalBytes == nil && host?.hasConnectionOfHTTP1_0 == true }

    /// Whether it may have bytes to send for which an HTTP/2 server has not opened its window.
    var mayAwaitWindow: Bool { upload.hasBody && url.isSecure && host?.isMultiplexed != false }

    func succeed() {
        _ = perform { exchange throws(TransportError) in try exchange.received.end() }
    }

    /// Called before the transfer ends on `handle`.
    func measure(on handle: CurlHandle) {
        let version = handle.easy.number(.httpVersion)
        isMultiplexed = version >= CurlValue.httpVersion2_0
        if version > 0 { host?.isMultiplexed = isMultiplexed }
        if version == CurlValue.httpVersion1_0 { host?.hasConnectionOfHTTP1_0 = true }
        timings = Boxed(wrappedValue: CurlTimings(of: self, on: handle, version: version).timings())
    }

    /// The loop does not use the exchange any more.
    func complete() {
        upload.stop()
        loop = nil
        timings = timings ?? Boxed(wrappedValue: marks.clock.timings())
        guard request.destination != .memory else { return resume() }
        // Waiting for the disk would block the loop, or the exchanges after this one in the queue of completions.
        DispatchQueue(label: "errand.file").async { [self] in
            do throws(TransportError) {
                if let failure { throw failure }
                try received.save()
            } catch {
                fail(error)
                received.discard()
            }
            resume()
        }
    }

    private func resume() {
        // The thread sanitizer does not recognize the ordering that a continuation guarantees, but recognizes this one.
        isComplete.store(true, ordering: .releasing)
        continuation?.resume()
    }

    /// Called after ``complete()``.
    func response() throws(TransportError) -> HTTPResponse {
        precondition(
            isComplete.load(ordering: .acquiring),
            "the response was requested before the exchange was complete"
        )
        if var failure {
            failure.timings = timings?.wrappedValue
            throw failure
        }
        var response = try received.response()
        (response.isMultiplexed, response.timings) = (isMultiplexed, timings?.wrappedValue)
        return response
    }
}
#endif
