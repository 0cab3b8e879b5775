import Foundation
import Synchronization

private struct StreamElements<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = APIError

    let proxy: APIProxy
    let begin: @MainActor @Sendable (StreamBuffer<Element>) -> RequestID

    func makeAsyncIterator() -> StreamIteration<Element> { StreamIteration(of: self) }
}

extension APIManager {
    /// Returns the elements one by one, for scripts; the delegate is notified neither of them nor of the ending.
    ///
    /// An iteration begins a load at its first element, and receives no more than are read. It ends when the response does; if the
    /// load fails, it throws the error after the elements that have arrived before, and if it is cancelled, at once. Leaving the
    /// iteration or cancelling its task cancels the load.
    ///
    /// If ``BaseAPIRequest/restartPolicy`` is `.ignoreNew` and a load is running, the iteration waits for its ending, and has no
    /// elements.
    ///
    /// - Parameter params: The parameters; see ``APIManager/loadData(params:indicator:message:)``.
    /// - Returns: The elements; nothing is loaded yet. They retain the request.
    public func elements<Element>(
        params: RequestParams = .source
    ) -> some AsyncSequence<Element, APIError> & Sendable
    where Self: StreamAPIRequest<Element> {
        StreamElements(proxy: proxy) { [self] buffer in
            let request: StreamAPIRequest<Element> = self
            request.reader = buffer
            let id = begin(input: LoadInput(params), receiver: .caller())
            request.reader = nil
            wait(for: id) { buffer.finish($0.map { _ in }) }
            return id
        }
    }
}

/// Cancels its load when it is released.
private final class StreamIteration<Element: Sendable>: AsyncIteratorProtocol, Sendable {
    private let elements: StreamElements<Element>
    private let buffer = StreamBuffer<Element>()
    private let load = Lock<RequestID?>(nil)
    private let hasLeft = Atomic(false)

    init(of elements: StreamElements<Element>) { self.elements = elements }

    deinit {
        buffer.finish(.failure(APIError(.cancelled)))
        leaveOnce()
    }

    private func leaveOnce() {
        guard let id = load.withLock(\.self), !hasLeft.exchange(true, ordering: .relaxed) else { return }
        elements.proxy.leave(id) { buffer.finish(.failure(APIError(.cancelled))) }
    }

    func next(isolation _: isolated (any Actor)?) async throws(APIError) -> Element? { try await next() }

    func next() async throws(APIError) -> Element? {
        let id: RequestID
        if let begun = load.withLock(\.self) {
            id = begun
        } else {
            guard !Task.isCancelled else { throw APIError(.cancelled) }
            id = await elements.begin(buffer)
            load.withLock { [id] in $0 = id }
        }
        let loads = elements.proxy.loads
        return try await withTaskCancellationHandler {
            let next = await buffer.next(isActive: loads.contains(id))
            guard case .success(.some) = next, !loads.contains(id) else { return next }
            // Not after a cancel, which ends the load before its elements are read; every other ending is for the next call.
            return await buffer.isCancelled() ? .failure(APIError(.cancelled)) : next
        } onCancel: {
            leaveOnce()
        }.get()
    }
}

/// The elements between a load and the iteration that reads them; those of one part of the response at a time.
final class StreamBuffer<Element: Sendable>: Sendable {
    private typealias Reader = CheckedContinuation<Result<Element?, APIError>, Never>
    private typealias Writer = CheckedContinuation<Void, Never>

    private struct State {
        /// In reverse order.
        var elements: [Element] = []
        var end: Result<Void, APIError>?
        var reader: Reader?
        var endWaiter: Writer?
        var writer: Writer?
    }

    private let state = Lock(State())

    /// Returns when all elements are read.
    func put(_ elements: [Element]) async {
        await withCheckedContinuation { writer in
            let (reader, next, isWaiting) = state.withLock { state -> (Reader?, Element?, Bool) in
                guard state.end == nil else { return (nil, nil, false) }
                state.elements = elements.reversed()
                let next = state.reader == nil ? nil : state.elements.popLast()
                if !state.elements.isEmpty { state.writer = writer }
                return (exchange(&state.reader, with: nil), next, !state.elements.isEmpty)
            }
            reader?.resume(returning: .success(next))
            if !isWaiting { writer.resume() }
        }
    }

    /// While its load is active, an element; afterwards one only when it is known that the load was not cancelled.
    func next(isActive: Bool) async -> Result<Element?, APIError> {
        await withCheckedContinuation { reader in
            let (next, writer) = state.withLock { state -> (Result<Element?, APIError>?, Writer?) in
                guard isActive || state.end != nil else {
                    state.reader = reader
                    return (nil, nil)
                }
                if let element = state.elements.popLast() {
                    return (.success(element), state.elements.isEmpty ? exchange(&state.writer, with: nil) : nil)
                }
                let writer = exchange(&state.writer, with: nil)
                if let end = state.end { return (end.map { nil }, writer) }
                state.reader = reader
                return (nil, writer)
            }
            writer?.resume()
            if let next { reader.resume(returning: next) }
        }
    }

    /// Waits for the end.
    func isCancelled() async -> Bool {
        await withCheckedContinuation { waiter in
            let hasEnded = state.withLock { state in
                if state.end == nil { state.endWaiter = waiter }
                return state.end != nil
            }
            if hasEnded { waiter.resume() }
        }
        return state.withLock { $0.end?.error?.type == .cancelled }
    }

    /// Only the first end counts.
    func finish(_ end: Result<Void, APIError>) {
        typealias Waiting = (reader: Reader?, next: Element?, writer: Writer?, end: Writer?)
        // What is dropped is released without the lock.
        let (waiting, _) = state.withLock { state -> (Waiting, [Element]) in
            guard state.end == nil else { return ((nil, nil, nil, nil), []) }
            state.end = end
            // Nothing is delivered after a cancel.
            let dropped = end.error?.type == .cancelled ? exchange(&state.elements, with: []) : []
            let reader = exchange(&state.reader, with: nil)
            let next = reader == nil ? nil : state.elements.popLast()
            return ((reader, next, exchange(&state.writer, with: nil), exchange(&state.endWaiter, with: nil)), dropped)
        }
        waiting.reader?.resume(returning: waiting.next.map(Result.success) ?? end.map { nil })
        waiting.writer?.resume()
        waiting.end?.resume()
    }
}
