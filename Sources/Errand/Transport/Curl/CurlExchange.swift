#if os(Linux)
import Foundation
import Synchronization

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
    /// The URL as text.
    let url: String
    /// The URL's scheme and authority, which tell whether two requests may share a connection.
    let origin: String
    /// The path and query, as the request line has them (RFC 9112 section 3.2.1).
    let target: String
    /// Whether the URL's scheme is `https`; otherwise it is `http`.
    let isSecure: Bool
    let headerList: CurlHeaderList
    var stage = Stage.new
    /// The host, once the exchange runs.
    var host: CurlHost?
    /// Whether the answer came over HTTP/2.
    var isMultiplexed = false
    /// The index among the running exchanges.
    var index = 0
    /// Resumed once, by ``handOver()``.
    var continuation: UnsafeContinuation<Void, Never>?
    private(set) var upload: CurlUpload
    private(set) var attempts = 0

    private var answer: CurlAnswer
    private var failure: TransportError?
    private var deadlines: CurlDeadlines
    private var alarm: CurlAlarm?
    private var backlog: CurlBacklog?
    private var budget = DecodingBudget()
    /// The loop's turn that ``budget`` is for.
    private var budgetTurn = 0
    private var hasEarlyAnswer = false
    private let isHandedOver = Atomic(false)
    /// How long a server may read on without a word when it has answered before it had the whole body.
    private static let earlyAnswerPatience: CurlClock.Instant = 500_000_000

    /// Prepares `request`, which has passed its validation.
    ///
    /// - Throws: ``TransportError/Kind/storage`` or ``TransportError/Kind/invalidRequest``.
    init(_ request: HTTPRequest, progress: TransferProgress.Handler?) throws(TransportError) {
        guard request.method != .head || request.body.isEmpty else {
            throw TransportError(.invalidRequest, "a HEAD request has no body")
        }
        self.request = request
        url = request.url.absoluteString
        isSecure = url.utf8.dropFirst("http".utf8.count).first != UInt8(ascii: ":")
        origin = url.origin
        target = url.target(behind: origin)
        upload = try CurlUpload(request, progress: progress)
        headerList = CurlHeaderList(request.headers, hasBody: upload.hasBody)
        answer = CurlAnswer(to: request, progress: progress)
        deadlines = CurlDeadlines(request)
    }

    /// The next instant at which the exchange may have to end.
    var nextDeadline: CurlClock.Instant { deadlines.next }

    /// Called when libcurl begins, with what the loop of this exchange waits for.
    func begin(_ alarm: CurlAlarm, _ backlog: CurlBacklog) {
        (self.alarm, self.backlog) = (alarm, backlog)
        deadlines.begin()
        alarm.set(deadlines.next)
    }

    // MARK: libcurl's questions

    /// Counts an attempt, before the request goes out on a connection; `false` ends the exchange.
    func beginAttempt() -> Bool {
        attempt { exchange throws(TransportError) in
            exchange.attempts += 1
            guard exchange.attempts <= exchange.allowedAttempts else {
                throw TransportError(.connectionLost, "the connection ended before an answer began")
            }
        }
    }

    /// How often the request may go out.
    ///
    /// libcurl repeats a request when its connection died and when an HTTP/2 server refused its stream (RFC 9113 section
    /// 8.7), but does not report which: after the former, the server may have acted on the request. A server that refuses
    /// a stream may refuse the next one as well, so that libcurl's own limit applies there.
    private var allowedAttempts: Int {
        guard request.method.isIdempotent else { return 1 }
        return host?.isMultiplexed == true ? .max : 2
    }

    /// Takes one header line; `false` ends the exchange.
    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        attempt { exchange throws(TransportError) in try exchange.answer.receive(headerLine: line) }
    }

    /// Takes bytes of the answer's body; `nil` ends the exchange.
    ///
    /// - Returns: Whether all of them are decoded. If not, the loop resumes the transfer in its next turn, and libcurl brings
    ///   the same bytes again.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool? {
        if let backlog, backlog.turn != budgetTurn {
            (budget, budgetTurn) = (DecodingBudget(), backlog.turn)
        }
        var isDone = false
        let isGood = attempt { exchange throws(TransportError) in
            isDone = try exchange.answer.receive(body: bytes, &exchange.budget)
        }
        if isGood, !isDone { backlog?.add(self) }
        return isGood ? isDone : nil
    }

    /// Fills `buffer` with the next bytes of the request's body; `nil` ends the exchange.
    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var count = 0
        let isDone = attempt { exchange throws(TransportError) in count = try exchange.upload.read(into: buffer) }
        return isDone ? count : nil
    }

    /// Goes back to the first byte of the request's body; `false` ends the exchange.
    func rewind() -> Bool {
        upload.rewind(request.method.isIdempotent)
    }

    private func attempt(_ step: (CurlExchange) throws(TransportError) -> Void) -> Bool {
        deadlines.move()
        do throws(TransportError) {
            try step(self)
            noteEarlyAnswer()
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// libcurl 7.88 waits for ever when an HTTP/2 server has answered and no longer takes the rest of the body.
    private func noteEarlyAnswer() {
        guard !hasEarlyAnswer, upload.isUnderWay, answer.isWholeOverHTTP2 else { return }
        hasEarlyAnswer = true
        deadlines.limitSilence(Self.earlyAnswerPatience)
        alarm?.set(deadlines.next)
    }

    // MARK: The end

    /// Notes why the exchange has to end, unless a reason is known already.
    func fail(_ error: TransportError) {
        failure = failure ?? error
    }

    /// Whether a reason is known why there will be no answer.
    var hasFailed: Bool { failure != nil }

    /// Notes that a deadline has passed at `now`.
    func expire(at now: CurlClock.Instant) {
        hasEarlyAnswer ? succeed() : fail(deadlines.error(at: now))
    }

    /// Notes that libcurl is content.
    func succeed() {
        _ = attempt { exchange throws(TransportError) in try exchange.answer.end() }
    }

    /// Gives the exchange back to its caller; the last thing that the loop does with it.
    func handOver() {
        guard case .file = request.destination else { return resume() }
        // A file waits for the disk, and others wait for the loop and for the threads that tasks share.
        DispatchQueue(label: "errand.file").async { [self] in
            settleFile()
            resume()
        }
    }

    /// Puts the answer's file in its place, or leaves nothing of it.
    private func settleFile() {
        do throws(TransportError) {
            if let failure { throw failure }
            try answer.save()
        } catch {
            fail(error)
            answer.discard()
        }
    }

    private func resume() {
        // The thread sanitizer does not see what a continuation orders, but it sees this.
        isHandedOver.store(true, ordering: .releasing)
        continuation?.resume()
    }

    /// The answer, once the exchange has been handed over.
    ///
    /// - Throws: The reason why there is none.
    func response() throws(TransportError) -> HTTPResponse {
        precondition(isHandedOver.load(ordering: .acquiring), "an exchange is asked for its answer before its end")
        if let failure { throw failure }
        var response = try answer.response()
        response.isMultiplexed = isMultiplexed
        return response
    }
}

/// The exchanges of which more has arrived than is decoded; it stays on the loop's thread.
///
/// In one turn of the loop, each of them decodes a bounded amount: others have their turn, and deadlines and cancels count.
final class CurlBacklog {
    /// How many turns the loop has begun.
    private(set) var turn = 0
    private var exchanges: [CurlExchange] = []

    /// Whether there are none.
    var isEmpty: Bool { exchanges.isEmpty }

    /// Adds one, whose transfer pauses until the next turn.
    func add(_ exchange: CurlExchange) {
        exchanges.append(exchange)
    }

    /// Begins a turn, and removes and returns those that go on in it.
    func beginTurn() -> [CurlExchange] {
        turn += 1
        defer { exchanges = [] }
        return exchanges
    }
}

extension String {
    /// The part of an absolute URL before its path, query or fragment.
    fileprivate var origin: String {
        let text = utf8
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return self }
        let ends = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
        let authority = text[colon...].dropFirst("://".utf8.count)
        return String(self[..<(authority.firstIndex(where: ends.contains) ?? endIndex)])
    }

    /// The rest of an absolute URL without the fragment; never empty.
    fileprivate func target(behind origin: String) -> String {
        let text = utf8.dropFirst(origin.utf8.count).prefix { $0 != UInt8(ascii: "#") }
        return (text.first == UInt8(ascii: "/") ? "" : "/") + String(Substring(text))
    }
}
#endif
