import Dispatch
import Foundation
import Synchronization

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
    /// Whether the receiver of the body has no room.
    private let awaitsRoom = Atomic(false)

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
        timer.start { [weak self] error in self?.endAndCancel { $0.outcome(of: error) } }
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
            request.didReceiveHead?(status, headers)
            let receiver = try request.receiver(status: status, headers: headers)
            try writer.withLock { writer throws(TransportError) in
                writer = try HTTPBodyWriter(request, status: status, receiver: receiver, expected: expected)
            }
            if state.withLock({ $0.isFollowed }) { timer.limitDeadline(to: ExchangeDeadlines.ofRedirect) }
        } catch {
            fail(error)
        }
        reportEvents()
    }

    func receive(_ data: Data) {
        // Only a body that ends leaves a connection that can be used again; the wait for that is limited.
        guard !state.withLock({ $0.isFollowed }) else { return }
        timer.restartTimeout()
        do throws(TransportError) {
            try data.withBytes { bytes throws(TransportError) in
                if let receiver { return try receiver.receive(bytes) }
                try writer.withLock { writer throws(TransportError) in try writer?.append(bytes) }
            }
            // A slow disk is no silence, unless one write takes longer than the timeout.
            timer.restartTimeout()
            advance { $0.receive(storedBytes: data.count) }
        } catch {
            fail(error)
        }
    }

    private var receiver: (any HTTPBodyReceiver)? { writer.withLock { $0?.receiver } }

    /// Returns whether the body's receiver has room; if not, calls `resume` once it has, and the timeout does not run until then.
    func hasRoom(orCall resume: @escaping @Sendable () -> Void) -> Bool {
        // A callback that was under way already does not wait as well: one call resumes the task.
        guard request.isResponseStreamed, !state.withLock({ $0.isFollowed }),
            !awaitsRoom.exchange(true, ordering: .acquiringAndReleasing)
        else { return true }
        // Before the receiver is asked, which may call at once.
        timer.pauseTimeout()
        let hasRoom =
            receiver?.hasRoom { [weak self] in
                self?.endWaitForRoom()
                resume()
            } ?? true
        if hasRoom { endWaitForRoom() }
        return hasRoom
    }

    private func endWaitForRoom() {
        // In this order: a callback that finds no room from then on pauses it again.
        timer.resumeTimeout()
        awaitsRoom.store(false, ordering: .releasing)
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

    func complete(_ error: TransportError?) {
        _ = end { $0.outcome(of: error) }
    }

    /// Ends the exchange without a response, and cancels its task.
    func fail(_ error: TransportError) {
        endAndCancel { _ in .failure(error) }
    }

    private func endAndCancel(_ decide: (inout URLSessionExchangeState) -> URLSessionExchangeState.Outcome) {
        guard let ending = end(decide), let cancelTask = ending.cancelTask else { return }
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
        let receiver = receiver
        guard case .success(var response) = outcome else { return outcome }
        do throws(TransportError) {
            try receiver?.finish()
            (response.body, response.file) = try writer.withLock { writer throws(TransportError) in
                defer { writer = nil }
                try writer?.synchronize()
                return (writer?.body ?? Data(), writer?.file)
            }
            response.isStreamed = receiver != nil
            return .success(response)
        } catch {
            var failure = error
            failure.timings = response.timings
            return .failure(failure)
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
            // Nothing more is delivered then, whatever the session has under way.
            if case .failure = ending.outcome { self.writer.withLock { $0 = nil } }
            guard self.request.destination != .memory else { return self.resume(ending) }
            // The other exchanges share this queue.
            DispatchQueue(label: "errand.file").async { self.resume(ending) }
        }
        return ending
    }
}
