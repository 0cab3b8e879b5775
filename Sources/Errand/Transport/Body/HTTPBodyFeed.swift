import Foundation

/// The bytes of a body stream between the task that reads the sequence and the thread that sends them.
///
/// Contains at most one element of the sequence; the next one is requested when all bytes of it have been read.
final class HTTPBodyFeed: Sendable {
    private struct State: Sendable {
        var chunk = Data()
        var end: Result<Void, TransportError>?
        var ready: (@Sendable () -> Void)?
        var producer: CheckedContinuation<Void, Never>?
        var isCancelled = false
        var reading: Task<Void, Never>?
    }

    private let state = Lock(State())

    /// The owner calls ``cancel()`` when it needs no more bytes.
    init(_ stream: HTTPBody.Stream) {
        let reading = Task.detached { [self] in
            do {
                try await stream.readChecked { try await put($0) }
                finish(.success(()))
            } catch {
                finish(.failure(TransportError(ofStream: error)))
            }
        }
        state.withLock { $0.reading = reading }
    }

    /// Returns the number of bytes that were moved to `buffer`: 0 at the end, `nil` if they are not there yet.
    ///
    /// After `nil`, `ready` is called once, on any thread, when there are bytes or the end; not after ``cancel()``.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        ready: @escaping @Sendable () -> Void
    ) throws(TransportError) -> Int? {
        let (count, former) = state.withLock { state in
            let former = state
            let count = state.chunk.copyBytes(to: buffer)
            state.chunk = count < state.chunk.count ? state.chunk.dropFirst(count) : Data()
            if state.chunk.isEmpty { state.producer = nil }
            if count == 0, state.end == nil, !state.isCancelled { state.ready = ready }
            return (count, former)
        }
        if count == former.chunk.count { former.producer?.resume() }
        guard count == 0 else { return count }
        try former.end?.get()
        return former.end == nil ? nil : 0
    }

    /// Calls no code of the app before it returns.
    func cancel() {
        let former = state.withLock { state in
            let former = state
            (state.chunk, state.ready, state.producer, state.isCancelled) = (Data(), nil, nil, true)
            return former
        }
        guard former.end == nil, let reading = former.reading else { return }
        // The cancellation handlers of the sequence run in `cancel()`, and may block.
        DispatchQueue(label: "errand.stream").async {
            reading.cancel()
            former.producer?.resume()
        }
    }

    /// Waits until the element is read.
    private func put(_ chunk: Data) async throws {
        let ready = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isCancelled else { return nil }
            state.chunk = chunk
            return exchange(&state.ready, with: nil)
        }
        ready?()
        await withCancellableContinuation(ifCancelled: ()) { continuation in
            state.withLock { state -> Void? in
                guard !state.chunk.isEmpty else { return () }
                state.producer = continuation
                return nil
            }
        } remove: {
            state.withLock { exchange(&$0.producer, with: nil) }
        }
        // The state is cancelled before the task.
        if state.withLock(\.isCancelled) { throw CancellationError() }
        try Task.checkCancellation()
    }

    private func finish(_ end: Result<Void, TransportError>) {
        let ready = state.withLock { state in
            state.end = end
            return exchange(&state.ready, with: nil)
        }
        ready?()
    }
}

extension TransportError {
    init(ofStream error: any Error) {
        switch error {
        case let error as HTTPBody.Stream.LengthError:
            let count = error.actual > error.expected ? "more than" : "\(error.actual) of"
            self.init(.storage, "the stream to send has \(count) \(error.expected) bytes", underlying: error)
        case is CancellationError where Task.isCancelled:
            self.init(.cancelled, "the task was cancelled")
        default:
            self.init(.storage, "the stream to send failed (\(type(of: error)))", underlying: error)
        }
    }
}
