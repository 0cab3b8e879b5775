import Dispatch
import Foundation
import Synchronization

/// One request on its way through a `URLSession`, and the one gate through which it ends.
///
/// Cancellation and deadlines pass the gate from any thread. The caller is resumed on the queue of the session's callbacks,
/// so no progress is reported after it has gone on. The task is cancelled on the queue on which it was started.
final class URLSessionExchange: Sendable {
    typealias Outcome = Result<HTTPResponse, TransportError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    let request: HTTPRequest
    /// The length of the request's body, measured once.
    let bodyBytes: Int64
    private let progress: TransferProgress.Handler?
    private let queues: URLSessionQueues
    private let deadline: ExchangeDeadline
    private let state = Mutex(State())

    /// Measures the body and starts the clock.
    ///
    /// - Throws: ``TransportError/Kind/file`` when a file to send cannot be read.
    init(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?,
        queues: URLSessionQueues
    ) throws(TransportError) {
        self.request = request
        self.progress = progress
        self.queues = queues
        bodyBytes = try HTTPBodyReader(request.body).totalBytes
        deadline = ExchangeDeadline(total: request.timeout, idle: request.idleTimeout)
        deadline.start { [weak self] reason in self?.fail(TransportError(.timeout, reason)) }
    }

    /// Takes the caller to resume; an exchange that has ended already resumes it at once.
    func begin(_ continuation: Continuation) {
        let early = state.withLock { $0.begin(continuation) }
        if let early { continuation.resume(returning: early) }
    }

    /// Takes what stops the task; `false` when the exchange has ended already.
    func attach(cancelTask: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.attach(cancelTask) }
    }

    /// Whether the gate is closed.
    var isEnded: Bool {
        state.withLock { $0.phase == .ended }
    }

    /// Takes the head of the final answer.
    func receive(status: Int, headers: HTTPHeaders) {
        deadline.touch()
        advance { state throws(TransportError) in
            try state.receive(status: status, headers: headers, for: request)
            return nil
        }
    }

    /// Takes decoded bytes of the answer's body.
    func receive(_ data: Data) {
        deadline.touch()
        advance { state throws(TransportError) in try state.receive(data) }
    }

    /// Takes the number of bytes of the request's body that have been sent, replays included.
    func didSend(_ bytes: Int64) {
        deadline.touch()
        advance { [bodyBytes] _ in
            TransferProgress(.upload, completedBytes: min(bytes, bodyBytes), totalBytes: bodyBytes)
        }
    }

    /// Whether there is neither a head nor an ending yet.
    var isWaitingForHead: Bool {
        state.withLock { $0.phase == .waiting }
    }

    /// Notes that the server's challenge is refused: the cancellation that follows is the end of a whole answer.
    func refuseChallenge() {
        state.withLock { $0.isChallengeRefused = true }
    }

    /// Ends with the answer that has been received.
    func complete() {
        end { state in
            state.cancelTask = nil
            return state.answer()
        }
    }

    /// Ends with the error of the session.
    func complete(errorCode code: Int, text: String) {
        end { state in
            state.cancelTask = nil
            guard code == NSURLErrorCancelled, state.isChallengeRefused else {
                return .failure(TransportError(urlSessionCode: code, text: text))
            }
            return state.answer()
        }
    }

    /// Ends without an answer; stops the task if it runs.
    func fail(_ error: TransportError) {
        end { _ in .failure(error) }
    }

    /// Changes the state unless the exchange has ended, and reports what the change tells; an error ends the exchange.
    private func advance(_ change: (inout State) throws(TransportError) -> TransferProgress?) {
        do {
            let report = try state.withLock { state throws(TransportError) in
                state.phase == .ended ? nil : try change(&state)
            }
            if let report { progress?(report) }
        } catch {
            fail(error)
        }
    }

    private func end(_ decide: (inout State) -> Outcome) {
        guard let ending = state.withLock({ $0.end(decide) }) else { return }
        deadline.stop()
        queues.callbacks.async { ending.continuation?.resume(returning: ending.outcome) }
        if let cancelTask = ending.cancelTask { queues.tasks.async(execute: cancelTask) }
    }
}

extension URLSessionExchange {
    private enum Phase {
        case waiting, receiving, ended
    }

    private struct Ending: Sendable {
        let outcome: Outcome
        let continuation: Continuation?
        let cancelTask: (@Sendable () -> Void)?
    }

    private struct State: ~Copyable {
        var phase = Phase.waiting
        var isChallengeRefused = false
        var cancelTask: (@Sendable () -> Void)?
        private var continuation: Continuation?
        private var early: Outcome?
        private var head = HTTPResponse(status: 0)
        private var writer: HTTPBodyWriter?
        private var received: Int64 = 0
        private var expected: Int64?

        mutating func begin(_ continuation: Continuation) -> Outcome? {
            guard phase != .ended else { return early }
            self.continuation = continuation
            return nil
        }

        mutating func attach(_ cancelTask: @escaping @Sendable () -> Void) -> Bool {
            guard phase != .ended else { return false }
            self.cancelTask = cancelTask
            return true
        }

        mutating func receive(
            status: Int,
            headers: HTTPHeaders,
            for request: HTTPRequest
        ) throws(TransportError) {
            guard headers.byteCount <= request.limits.headerBytes else {
                throw TransportError(.responseTooLarge, "the header is larger than \(request.limits.headerBytes) bytes")
            }
            head = HTTPResponse(status: status, headers: headers)
            expected = try headers.answerLength(status: status, to: request.method)
            writer = try HTTPBodyWriter(request, status: status, expected: expected)
            phase = .receiving
        }

        mutating func receive(_ data: Data) throws(TransportError) -> TransferProgress? {
            guard phase == .receiving else { return nil }
            try writer?.append(data)
            received += Int64(data.count)
            return TransferProgress(.download, completedBytes: received, totalBytes: expected)
        }

        mutating func answer() -> Outcome {
            guard phase == .receiving else { return .failure(TransportError(.badResponse, "there is no answer")) }
            do throws(TransportError) {
                head.file = try writer?.finish()
                head.body = writer?.body ?? Data()
                return .success(head)
            } catch {
                return .failure(error)
            }
        }

        mutating func end(_ decide: (inout State) -> Outcome) -> Ending? {
            guard phase != .ended else { return nil }
            let outcome = decide(&self)
            let ending = Ending(outcome: outcome, continuation: continuation, cancelTask: cancelTask)
            phase = .ended
            (early, continuation, cancelTask) = (outcome, nil, nil)
            writer = nil
            return ending
        }
    }
}
