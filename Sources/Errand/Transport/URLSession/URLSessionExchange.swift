import Dispatch
import Foundation
import Synchronization

/// One request on its way through a `URLSession`, and the one gate through which it ends.
///
/// Cancellation and deadlines pass the gate from any thread. The caller is resumed on the queue of the session's callbacks,
/// so no progress is reported after it has gone on. The task is cancelled on the queue on which it was started.
final class URLSessionExchange: Sendable {
    let request: HTTPRequest
    /// The length of the request's body, measured once.
    let bodyBytes: Int64
    private let progress: TransferProgress.Handler?
    private let queues: URLSessionQueues
    private let deadline: ExchangeDeadline
    private let state = Mutex(ExchangeState())

    /// Measures the body and starts the clock.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest`` when a file to send cannot be read.
    init(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?,
        queues: URLSessionQueues
    ) throws(TransportError) {
        self.request = request
        self.progress = progress
        self.queues = queues
        bodyBytes = try HTTPBodyReader(request.body).totalBytes
        deadline = ExchangeDeadline(total: request.deadline, idle: request.timeout)
        deadline.start { [weak self] reason in self?.fail(TransportError(.timeout, reason)) }
    }

    /// Takes the caller to resume; an exchange that has ended already resumes it at once.
    func begin(_ continuation: ExchangeState.Continuation) {
        let outcome = state.withLock { $0.begin(continuation) }
        if let outcome { continuation.resume(returning: outcome) }
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
        state.withLock { $0.refuseChallenge() }
    }

    /// Ends as the task has ended.
    func complete(_ error: TransportError?) {
        _ = end { $0.outcome(of: error) }
    }

    /// Ends without an answer; stops the task if it runs.
    func fail(_ error: TransportError) {
        guard let cancelTask = end({ _ in .failure(error) })?.cancelTask else { return }
        queues.tasks.async(execute: cancelTask)
    }

    /// Changes the state unless the exchange has ended, and reports what the change tells; an error ends the exchange.
    private func advance(_ change: (inout ExchangeState) throws(TransportError) -> TransferProgress?) {
        do {
            let report = try state.withLock { state throws(TransportError) in
                state.phase == .ended ? nil : try change(&state)
            }
            if let report { progress?(report) }
        } catch {
            fail(error)
        }
    }

    private func end(_ decide: (inout ExchangeState) -> ExchangeState.Outcome) -> ExchangeState.Ending? {
        guard let ending = state.take({ $0.end(decide) }) else { return nil }
        deadline.stop()
        queues.callbacks.async { ending.continuation?.resume(returning: ending.outcome) }
        return ending
    }
}
