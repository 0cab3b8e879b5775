import Dispatch
import Foundation

/// The two serial queues of a transport.
///
/// Starting, cancelling and completing a task each wait for one queue that all sessions of a process share on Linux; with a
/// separate queue, the callbacks do not wait for it.
struct URLSessionQueues: Sendable {
    /// The queue of the session's callbacks, on which callers are resumed.
    let callbacks = DispatchQueue(label: "errand.urlsession.callbacks")
    /// The queue on which tasks are started, cancelled and completed, so that none is completed after it was cancelled.
    let tasks = DispatchQueue(label: "errand.urlsession.tasks")
}

/// One request that is sent through a `URLSession`.
///
/// Cancellation and deadlines may end it on any thread; only the first end counts. The caller is resumed after the callbacks
/// of the session, so no progress is reported after that. The task is cancelled on the queue on which it was started.
final class URLSessionExchange: Sendable {
    let request: HTTPRequest
    /// The length of the request's body, measured once.
    let bodyBytes: Int64
    private let progress: TransferProgress.Handler?
    private let queues: URLSessionQueues
    private let timer: ExchangeTimer
    private let clock: ExchangeClock
    private let state: Lock<URLSessionExchangeState>
    /// Reads the request's body; `nil` when the exchange has ended.
    private let body: Lock<HTTPBodyReader?>
    /// Stores the response's body; used on the queue of the callbacks, and after the end on another one, so that no other thread
    /// waits for a disk.
    private let writer = Lock<HTTPBodyWriter?>(nil)

    /// Measures the body and starts the deadlines.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when a file to send cannot be read.
    init(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?,
        queues: URLSessionQueues,
        clock: ExchangeClock
    ) throws(TransportError) {
        self.clock = clock
        state = Lock(URLSessionExchangeState(request, clock))
        self.request = request
        self.progress = progress
        self.queues = queues
        let reader = try HTTPBodyReader(request.body)
        bodyBytes = reader.totalBytes ?? 0
        body = Lock(reader)
        timer = ExchangeTimer(ExchangeDeadlines(request))
        timer.start { [weak self] error in self?.fail(error) }
    }

    /// Stores the caller, which is resumed at once if the exchange has ended.
    func begin(_ continuation: URLSessionExchangeState.Continuation) {
        let outcome = state.withLock { $0.begin(continuation) }
        if let outcome { continuation.resume(returning: outcome) }
    }

    /// Stores the function that cancels the task; `false` if the exchange has ended.
    func attach(cancelTask: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.attach(cancelTask) }
    }

    var isEnded: Bool {
        state.withLock { $0.phase == .ended }
    }

    /// Fills `buffer` with the next bytes of the request's body, and returns their number: 0 at the end, `nil` when the exchange
    /// has ended, and when reading fails, which ends it.
    func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        do {
            return try body.withLock { reader throws(TransportError) in try reader?.read(into: buffer) }
        } catch {
            fail(error)
            return nil
        }
    }

    func rewindBody() {
        body.withLock { $0?.rewind() }
    }

    func closeBody() {
        body.withLock { $0 = nil }
    }

    func receive(status: Int, headers: HTTPHeaders) {
        timer.restartTimeout()
        do throws(TransportError) {
            let expected = try state.withLock { state throws(TransportError) in
                try state.receive(status: status, headers: headers, for: request)
            }
            let receiver = try request.receiver(status: status, headers: headers)
            try writer.withLock { writer throws(TransportError) in
                writer = try HTTPBodyWriter(request, status: status, receiver: receiver, expected: expected)
            }
        } catch {
            fail(error)
        }
        reportEvents()
    }

    func receive(_ data: Data) {
        timer.restartTimeout()
        do throws(TransportError) {
            try writer.withLock { writer throws(TransportError) in try writer?.append(data) }
            // A slow disk is no silence, unless one write takes longer than the timeout.
            timer.restartTimeout()
            advance { [request] in $0.receive(storedBytes: data.count, for: request) }
        } catch {
            fail(error)
        }
    }

    /// Returns whether the body's receiver has room; if not, calls `resume` once it has, and the timeout does not run until then.
    func hasRoom(orCall resume: @escaping @Sendable () -> Void) -> Bool {
        guard request.isResponseStreamed else { return true }
        // Before the receiver is asked, which may call at once.
        timer.pauseTimeout()
        let hasRoom = writer.withLock { writer in
            writer?.hasRoom { [weak self] in
                self?.timer.resumeTimeout()
                resume()
            } ?? true
        }
        if hasRoom { timer.resumeTimeout() }
        return hasRoom
    }

    /// Receives the number of bytes of the request's body that have been sent, in all attempts.
    func didSend(_ bytes: Int64) {
        timer.restartTimeout()
        advance { [bodyBytes] state in
            state.sentBytes = bytes
            return TransferProgress(.upload, completedBytes: min(bytes, bodyBytes), totalBytes: bodyBytes)
        }
        reportEvents()
    }

    var isWaitingForHead: Bool {
        state.withLock { $0.phase == .waiting }
    }

    /// Records that the server's challenge is refused; the following cancellation is the end of a complete response.
    func refuseChallenge() {
        state.withLock { $0.isChallengeRefused = true }
    }

    func receiveTimings(_ measure: (inout ExchangeTimings) -> Void) {
        var measured = clock.timings()
        measure(&measured)
        state.withLock { [measured] in $0.receive(measured) }
    }

    /// Ends the exchange after its task has ended.
    func complete(_ error: TransportError?) {
        _ = end { $0.outcome(of: error) }
    }

    /// Ends the exchange without a response, and cancels its task.
    func fail(_ error: TransportError) {
        guard let cancelTask = end({ _ in .failure(error) })?.cancelTask else { return }
        queues.tasks.async(execute: cancelTask)
    }

    /// Changes the state unless the exchange has ended, and reports the resulting progress.
    private func advance(_ change: (inout URLSessionExchangeState) -> TransferProgress?) {
        let report = state.withLock { $0.phase == .ended ? nil : change(&$0) }
        if let report { progress?(report) }
    }

    private func resume(_ ending: URLSessionExchangeState.Ending) {
        let outcome = storeBody(of: ending.outcome)
        ending.continuation?.resume(returning: outcome)
    }

    /// Returns an outcome with the body of its response; may wait for a disk.
    private func storeBody(of outcome: URLSessionExchangeState.Outcome) -> URLSessionExchangeState.Outcome {
        writer.withLock { writer in
            defer { writer = nil }
            guard case .success(var response) = outcome else { return outcome }
            do throws(TransportError) {
                try writer?.synchronize()
                (response.body, response.file) = (writer?.body ?? Data(), writer?.file)
                response.isStreamed = writer?.isStreamed == true
                return .success(response)
            } catch {
                var failure = error
                failure.timings = response.timings
                return .failure(failure)
            }
        }
    }

    /// Reports new events to the request's observer; called on the queue of the callbacks, as for progress.
    private func reportEvents() {
        guard let observer = request.observer else { return }
        state.withLock { [bodyBytes] in $0.events(bodyBytes: bodyBytes) }.forEach(observer)
    }

    private func end(
        _ decide: (inout URLSessionExchangeState) -> URLSessionExchangeState.Outcome
    ) -> URLSessionExchangeState.Ending? {
        guard let ending = state.withLock({ $0.end(outcome: decide) }) else { return nil }
        timer.stop()
        queues.callbacks.async {
            // Before the caller is resumed, and not by the session: a session may keep the body of a task that was cancelled. Waits
            // until a read has ended.
            self.closeBody()
            guard self.request.destination != .memory else { return self.resume(ending) }
            // The other exchanges share this queue.
            DispatchQueue(label: "errand.file").async { self.resume(ending) }
        }
        return ending
    }
}

/// The state of an exchange through `URLSession`: the received part of the response, and the caller.
struct URLSessionExchangeState: ~Copyable {
    typealias Outcome = Result<HTTPResponse, TransportError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    enum Phase {
        case waiting, receiving, ended
    }

    struct Ending: Sendable {
        let outcome: Outcome
        let continuation: Continuation?
        let cancelTask: (@Sendable () -> Void)?
    }

    private(set) var phase = Phase.waiting
    private var outcome: Outcome?
    private var continuation: Continuation?
    private var cancelTask: (@Sendable () -> Void)?
    /// Whether the following cancellation is caused by the refusal of the server's challenge.
    var isChallengeRefused = false
    private var head = HTTPResponse(status: 0)
    private var receivedBytes: Int64 = 0
    private var expectedBytes: Int64?
    private let clock: ExchangeClock
    private var headAt: MonotonicClock.Instant?
    private var measured: ExchangeTimings?
    /// The bytes of the request's body that have been sent, in all attempts.
    var sentBytes: Int64 = 0
    private var reported: ReportedEvents

    init(_ request: HTTPRequest, _ clock: ExchangeClock) {
        self.clock = clock
        reported = ReportedEvents(request)
    }

    /// Stores the caller; returns the outcome instead if the exchange has ended.
    mutating func begin(_ continuation: Continuation) -> Outcome? {
        guard phase != .ended else { return outcome }
        self.continuation = continuation
        return nil
    }

    /// Stores the function that cancels the task; `false` if the exchange has ended.
    mutating func attach(_ cancelTask: @escaping @Sendable () -> Void) -> Bool {
        guard phase != .ended else { return false }
        self.cancelTask = cancelTask
        return true
    }

    /// Receives the head of the response to `request`, and returns the number of bytes of the decoded body; `nil` when unknown.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge``, and ``TransportError/Kind/badResponse`` also for a second head:
    ///   `URLSession` reports one for each part of `multipart/x-mixed-replace`.
    mutating func receive(
        status: Int,
        headers: HTTPHeaders,
        for request: HTTPRequest
    ) throws(TransportError) -> Int64? {
        guard phase == .waiting else {
            throw TransportError(.badResponse, "the response has several parts, each of which replaces the one before")
        }
        try request.limits.check(headers)
        (head.status, head.headers) = (status, headers)
        expectedBytes = try Self.decodedLength(headers, hasBody: request.method.allowsResponseBody(status))
        (phase, headAt) = (.receiving, MonotonicClock.now)
        return expectedBytes
    }

    /// Returns the events to report now, of a request whose body has `bodyBytes` bytes.
    ///
    /// `URLSession` does not report the end of a request without a body: it is reported with the head.
    mutating func events(bodyBytes: Int64) -> [TransportEvent] {
        guard phase != .ended else { return [] }
        var events: [TransportEvent] = []
        let isSent = bodyBytes > 0 ? sentBytes >= bodyBytes : phase == .receiving
        if isSent, reported.addSent() { events.append(.sent) }
        if phase == .receiving, reported.addHead() { events.append(.head(status: head.status, headers: head.headers)) }
        return events
    }

    /// Returns the number of bytes of the decoded body; `nil` when unknown.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when the head contradicts itself, and for a transfer coding other than
    ///   `chunked`, which not every `URLSession` decodes or refuses.
    static func decodedLength(_ headers: HTTPHeaders, hasBody: Bool) throws(TransportError) -> Int64? {
        let framing = BodyFraming(headers)
        let layout = try framing.layout(hasBody: hasBody) { _ in false }
        return framing.hasContentCoding ? nil : layout.decodedLength
    }

    /// Receives what the session has measured; not called on Linux.
    mutating func receive(_ measured: ExchangeTimings) {
        head.isMultiplexed = measured.protocolName == "h2" || measured.protocolName == "h3"
        self.measured = measured
    }

    /// Receives the number of decoded bytes of the response's body that are stored, and returns the progress.
    mutating func receive(storedBytes: Int, for request: HTTPRequest) -> TransferProgress? {
        guard phase == .receiving else { return nil }
        receivedBytes += Int64(storedBytes)
        guard !request.mayFollow(head.status) else { return nil }
        return TransferProgress(.download, completedBytes: receivedBytes, totalBytes: expectedBytes)
    }

    /// Returns the outcome of a task that has ended with `error`; a response is without its body.
    func outcome(of error: TransportError?) -> Outcome {
        if let error, !isChallengeRefused || !error.isURLSessionCancellation { return .failure(error) }
        guard phase == .receiving else { return .failure(TransportError(.badResponse, "there is no response")) }
        return .success(head)
    }

    /// Ends the exchange with the outcome that `outcome` returns; `nil` if it has ended already.
    mutating func end(outcome decide: (inout URLSessionExchangeState) -> Outcome) -> Ending? {
        guard phase != .ended else { return nil }
        let outcome = decide(&self).withTimings(timings())
        let ending = Ending(outcome: outcome, continuation: continuation, cancelTask: cancelTask)
        phase = .ended
        (self.outcome, continuation, cancelTask) = (outcome, nil, nil)
        return ending
    }

    private func timings() -> ExchangeTimings {
        let now = MonotonicClock.now
        var timings = clock.timings(until: now)
        if var measured {
            measured.total = timings.total
            timings = measured
        }
        guard let headAt else { return timings }
        // Where the session measures nothing, the body begins when its head is complete.
        if measured == nil { timings.body = .nanoseconds(now - headAt) }
        timings.decodedBodyBytes = receivedBytes
        return timings
    }
}

extension Result<HTTPResponse, TransportError> {
    fileprivate func withTimings(_ timings: ExchangeTimings) -> Self {
        switch self {
        case .success(var response):
            response.timings = timings
            return .success(response)
        case .failure(var error):
            error.timings = timings
            return .failure(error)
        }
    }
}
