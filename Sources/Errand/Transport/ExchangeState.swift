import Foundation

/// How far an exchange through `URLSession` has come: what arrived so far, and who waits for the end.
struct ExchangeState: ~Copyable {
    typealias Outcome = Result<HTTPResponse, TransportError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    enum Phase {
        case waiting, receiving, ended
    }

    /// What is to be done, once, when an exchange has ended.
    struct Ending: Sendable {
        let outcome: Outcome
        let continuation: Continuation?
        let cancelTask: (@Sendable () -> Void)?
    }

    private(set) var phase = Phase.waiting
    private var outcome: Outcome?
    private var continuation: Continuation?
    private var cancelTask: (@Sendable () -> Void)?
    private var isChallengeRefused = false
    private var head = HTTPResponse(status: 0)
    private var writer: HTTPBodyWriter?
    private var receivedBytes: Int64 = 0
    private var expectedBytes: Int64?

    /// Takes the caller, or answers the outcome when there is one already.
    mutating func begin(_ continuation: Continuation) -> Outcome? {
        guard phase != .ended else { return outcome }
        self.continuation = continuation
        return nil
    }

    /// Takes what stops the task; `false` when the exchange has ended already.
    mutating func attach(_ cancelTask: @escaping @Sendable () -> Void) -> Bool {
        guard phase != .ended else { return false }
        self.cancelTask = cancelTask
        return true
    }

    /// Notes that the cancellation which is to come is that of the server's challenge.
    mutating func refuseChallenge() {
        isChallengeRefused = true
    }

    /// Takes the head of the answer to `request`.
    mutating func receive(status: Int, headers: HTTPHeaders, for request: HTTPRequest) throws(TransportError) {
        guard headers.byteCount <= request.limits.headerBytes else {
            throw TransportError(.responseTooLarge, "the header is larger than \(request.limits.headerBytes) bytes")
        }
        head = HTTPResponse(status: status, headers: headers)
        expectedBytes = try Self.decodedLength(headers, hasBody: request.method.isAnsweredWithBody(status))
        writer = try HTTPBodyWriter(request, status: status, expected: expectedBytes)
        phase = .receiving
    }

    /// The number of bytes of the decoded body, where the head announces it.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when the head contradicts itself, and for a transfer coding other than
    ///   `chunked`: not every `URLSession` decodes one or refuses it.
    static func decodedLength(_ headers: HTTPHeaders, hasBody: Bool) throws(TransportError) -> Int64? {
        let framing = BodyFraming(headers)
        let length = try framing.contentLength()
        guard hasBody else { return nil }
        _ = try framing.codings { _ in false }
        return framing.hasContentCoding ? nil : length
    }

    /// Takes decoded bytes of the answer's body, and tells how many there are now.
    mutating func receive(_ data: Data) throws(TransportError) -> TransferProgress? {
        guard phase == .receiving else { return nil }
        try writer?.append(data)
        receivedBytes += Int64(data.count)
        return TransferProgress(.download, completedBytes: receivedBytes, totalBytes: expectedBytes)
    }

    /// Notes that the task is over, and decides what came of it.
    mutating func outcome(of error: TransportError?) -> Outcome {
        guard let error, error.kind != .cancelled || !isChallengeRefused else { return answer() }
        return .failure(error)
    }

    /// Closes the gate with the outcome that `decide` makes; `nil` when it is closed already.
    mutating func end(_ decide: (inout ExchangeState) -> Outcome) -> Ending? {
        guard phase != .ended else { return nil }
        let outcome = decide(&self)
        let ending = Ending(outcome: outcome, continuation: continuation, cancelTask: cancelTask)
        phase = .ended
        (self.outcome, continuation, cancelTask) = (outcome, nil, nil)
        writer = nil
        return ending
    }

    private mutating func answer() -> Outcome {
        guard phase == .receiving else { return .failure(TransportError(.badResponse, "there is no answer")) }
        do throws(TransportError) {
            head.file = try writer?.finish()
            head.body = writer?.body ?? Data()
            return .success(head)
        } catch {
            return .failure(error)
        }
    }
}
