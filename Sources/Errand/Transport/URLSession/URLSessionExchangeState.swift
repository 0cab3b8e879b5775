import Foundation

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
    /// Whether it is a redirect that is followed, so that its body does not matter.
    private(set) var isFollowed = false
    private let clock: ExchangeClock
    private var headAt: MonotonicClock.Instant?
    private var measured: ExchangeTimings?
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
        isFollowed = request.follows(status, headers)
        let hasBody = request.method.allowsResponseBody(status) && !isFollowed
        expectedBytes = try Self.decodedLength(headers, hasBody: hasBody)
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
    mutating func receive(storedBytes: Int) -> TransferProgress? {
        guard phase == .receiving else { return nil }
        receivedBytes += Int64(storedBytes)
        return TransferProgress(.download, completedBytes: receivedBytes, totalBytes: expectedBytes)
    }

    /// Returns the outcome of a task that has ended with `error`; a response is without its body.
    func outcome(of error: TransportError?) -> Outcome {
        if isFollowed { return .success(head) }
        if let error, !isChallengeRefused || !error.isURLSessionCancellation { return .failure(error) }
        guard phase == .receiving else { return .failure(TransportError(.badResponse, "there is no response")) }
        // Not every session reports that a body over HTTP/2 has ended early.
        if error == nil, !(300..<400).contains(head.status), let expectedBytes, receivedBytes < expectedBytes {
            let text = "the body has ended after \(receivedBytes) of \(expectedBytes) bytes"
            return .failure(TransportError(.connectionLost, text))
        }
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
