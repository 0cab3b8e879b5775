import Foundation
import Synchronization

/// The bytes of a body stream between the task that reads the sequence and the thread that sends them.
///
/// Contains at most one element of the sequence; the next one is requested when all bytes of it have been read.
final class HTTPBodyFeed: Sendable {
    private let state = Mutex(State())
    private let task = Mutex(Task<Void, Never>?.none)

    /// Begins to read a new sequence of `stream`; the owner calls ``cancel()`` when it needs no more bytes.
    init(_ stream: HTTPBody.Stream) {
        let reading = Task.detached { [self] in
            do {
                try await stream.readChecked { try await put($0) }
                finish(.success(()))
            } catch {
                finish(.failure(TransportError(ofStream: error)))
            }
        }
        task.withLock { $0 = reading }
    }

    /// Moves the next bytes to `buffer`, and returns their number: 0 at the end, `nil` if they are not there yet.
    ///
    /// - Parameters:
    ///   - buffer: Receives the bytes.
    ///   - ready: Called once, on any thread, when there are bytes or the end after `nil` was returned; not after
    ///     ``cancel()``.
    /// - Returns: The number of bytes.
    /// - Throws: ``TransportError/Kind/storage`` when the sequence has failed.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        ready: @escaping @Sendable () -> Void
    ) throws(TransportError) -> Int? {
        let step = state.take { $0.read(into: buffer, ready: ready) }
        step.producer?.resume()
        guard step.count == 0 else { return step.count }
        try step.end?.get()
        return step.end == nil ? nil : 0
    }

    /// Stops reading the sequence, and calls no code of the app before it returns.
    func cancel() {
        let step = state.take { $0.cancel() }
        guard step.end == nil, let reading = task.withLock({ $0 }) else { return }
        // The cancellation handlers of the sequence run in `cancel()`, and may block.
        DispatchQueue(label: "errand.stream").async {
            reading.cancel()
            step.producer?.resume()
        }
    }

    /// Offers an element, and waits until it is read.
    private func put(_ chunk: Data) async throws {
        state.take { $0.put(chunk) }?()
        await withCancellableContinuation(ifCancelled: ()) { continuation in
            state.withLock { $0.wait(continuation) }
        } remove: {
            state.take { $0.takeProducer() }
        }
        // The state is cancelled before the task.
        if state.withLock(\.isCancelled) { throw CancellationError() }
        try Task.checkCancellation()
    }

    private func finish(_ end: Result<Void, TransportError>) {
        state.take { $0.finish(end) }?()
    }
}

extension HTTPBodyFeed {
    /// What a step removes from the state, to be used and released without the lock.
    private struct Step: Sendable {
        var count = 0
        var chunk = Data()
        var end: Result<Void, TransportError>?
        var producer: CheckedContinuation<Void, Never>?
        var ready: (@Sendable () -> Void)?
    }

    private struct State {
        private var chunk = Data()
        private var end: Result<Void, TransportError>?
        private var ready: (@Sendable () -> Void)?
        private var producer: CheckedContinuation<Void, Never>?
        private(set) var isCancelled = false

        mutating func read(into buffer: UnsafeMutableRawBufferPointer, ready: @escaping @Sendable () -> Void) -> Step {
            let count = chunk.copyBytes(to: buffer)
            var step = Step(count: count, chunk: chunk, end: end)
            chunk = count < chunk.count ? chunk.dropFirst(count) : Data()
            if chunk.isEmpty { step.producer = takeProducer() }
            if count == 0, end == nil, !isCancelled { (step.ready, self.ready) = (self.ready, ready) }
            return step
        }

        mutating func cancel() -> Step {
            let step = Step(chunk: chunk, end: end, producer: takeProducer(), ready: ready)
            (chunk, ready, isCancelled) = (Data(), nil, true)
            return step
        }

        mutating func put(_ chunk: Data) -> (@Sendable () -> Void)? {
            guard !isCancelled else { return nil }
            self.chunk = chunk
            return takeReady()
        }

        mutating func finish(_ end: Result<Void, TransportError>) -> (@Sendable () -> Void)? {
            self.end = end
            return takeReady()
        }

        /// Keeps the task that waits; returns a value instead if there is nothing to wait for.
        mutating func wait(_ continuation: CheckedContinuation<Void, Never>) -> Void? {
            guard !chunk.isEmpty else { return () }
            producer = continuation
            return nil
        }

        mutating func takeProducer() -> CheckedContinuation<Void, Never>? {
            defer { producer = nil }
            return producer
        }

        private mutating func takeReady() -> (@Sendable () -> Void)? {
            defer { ready = nil }
            return ready
        }
    }
}

extension TransportError {
    /// Creates the error of a stream that was not read to its end.
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
