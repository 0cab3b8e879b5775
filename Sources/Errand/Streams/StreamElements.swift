private struct StreamElements<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = APIError

    let proxy: APIProxy
    let begin: @MainActor @Sendable (StreamBuffer<Element>) -> (id: RequestID, session: LoadSession)

    func makeAsyncIterator() -> StreamIteration<Element> { StreamIteration(of: self) }
}

extension APIManager {
    /// Returns the elements one by one, for scripts; the delegate is notified neither of them nor of the ending.
    ///
    /// An iteration begins a load at its first element, and receives no more than are read. It ends when the response does; if the
    /// load fails, it throws the error after the elements that have arrived before, and if it is cancelled, at once; also by a
    /// logout after the load has ended. Leaving the iteration or cancelling its task cancels the load.
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
            return (id, proxy.session(of: id))
        }
    }
}

/// Cancels its load when it is released.
private final class StreamIteration<Element: Sendable>: AsyncIteratorProtocol {
    private let elements: StreamElements<Element>
    private let buffer = StreamBuffer<Element>()
    /// `nil` before the first element is read.
    private var load: (id: RequestID, session: LoadSession)?

    init(of elements: StreamElements<Element>) { self.elements = elements }

    deinit {
        buffer.cancel()
        if let load { buffer.leave(load.id, in: elements.proxy) }
    }

    func next(isolation _: isolated (any Actor)?) async throws(APIError) -> Element? {
        guard load != nil || !Task.isCancelled else { throw APIError(.cancelled) }
        let (id, session) = if let load { load } else { await elements.begin(buffer) }
        load = (id, session)
        let next = await withTaskCancellationHandler { [loads = elements.proxy.loads] in
            await buffer.next { loads.contains(id) }
        } onCancel: { [buffer, proxy = elements.proxy] in
            buffer.leave(id, in: proxy)
        }
        // Also of a load that has ended: the caller goes on later.
        if session.hasEnded { buffer.cancel() }
        try session.check()
        return try next.get()
    }
}

/// The elements between a load and the iteration that reads them; those of one part of the response at a time.
final class StreamBuffer<Element: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        /// In reverse order.
        var elements: [Element] = []
        var end: Result<Void, APIError>?
        var reader: Waiter?
        /// Waits until all elements are read.
        var writer: Waiter?
        var hasLeft = false
    }

    private let state = Lock(State())

    /// Returns when all elements are read.
    func put(_ elements: [Element]) async {
        await withCheckedContinuation { writer in
            let waiter: Waiter? = state.withLock { state in
                guard state.end == nil else { return writer }
                (state.elements, state.writer) = (elements.reversed(), writer)
                return exchange(&state.reader, with: nil)
            }
            waiter?.resume()
        }
    }

    /// While its load is active, an element; afterwards one only when it is known that the load was not cancelled: a cancel ends
    /// the load before it ends this buffer.
    func next(whileActive isActive: () -> Bool) async -> Result<Element?, APIError> {
        while true {
            let isActive = isActive()
            let (next, writer) = state.withLock { state -> (Result<Element?, APIError>?, Waiter?) in
                guard isActive || state.end != nil else { return (nil, nil) }
                let element = state.elements.popLast()
                let writer = state.elements.isEmpty ? exchange(&state.writer, with: nil) : nil
                return (element.map(Result.success) ?? state.end.map { $0.map { nil } }, writer)
            }
            writer?.resume()
            if let next { return next }
            await withCheckedContinuation { reader in
                let hasNext = state.withLock { state in
                    let hasNext = state.end != nil || isActive && !state.elements.isEmpty
                    if !hasNext { state.reader = reader }
                    return hasNext
                }
                if hasNext { reader.resume() }
            }
        }
    }

    /// Leaves the load once, however often it is called.
    func leave(_ id: RequestID, in proxy: APIProxy) {
        let hasLeft = state.withLock { exchange(&$0.hasLeft, with: true) }
        if !hasLeft { proxy.leave(id, ifShared: cancel) }
    }

    func cancel() { finish(.failure(APIError(.cancelled))) }

    /// Only the first end counts.
    func finish(_ end: Result<Void, APIError>) {
        // What is dropped is released without the lock.
        let (waiters, _) = state.withLock { state -> ([Waiter?], [Element]) in
            guard state.end == nil else { return ([], []) }
            state.end = end
            // Nothing is delivered after a cancel.
            let dropped = end.error?.type == .cancelled ? exchange(&state.elements, with: []) : []
            return ([exchange(&state.reader, with: nil), exchange(&state.writer, with: nil)], dropped)
        }
        for waiter in waiters { waiter?.resume() }
    }
}
