/// One load that has ended, as ``APIProxy/endings`` reports it to code that is not its delegate.
public struct EndedRequest: Sendable, Identifiable {
    /// The load's ID.
    public let id: RequestID
    /// The class of the request; `nil` for a plain call, and for a load that validates a stored response in the
    /// background.
    public let requestClass: AnyClass?
    /// The request method.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
    /// The response with status, headers and timings, but without body and file; `nil` if none was received.
    public let response: APIResponse?
    /// How the load ended; the ``APIError/response`` of a failure is ``response``.
    public let ending: APIEnding
    /// The number of endings that were dropped directly before this one because the reader was too slow; usually 0.
    public internal(set) var droppedCount = 0

    init(
        _ id: RequestID,
        of requestClass: AnyClass?,
        _ method: HTTPMethod,
        path: String,
        _ response: APIResponse?,
        _ ending: APIEnding
    ) {
        (self.id, self.requestClass, self.method, self.path) = (id, requestClass, method, URLRedaction.path(path))
        self.response = response?.withContent()
        // A body may be large.
        self.ending =
            if case .failure(let error) = ending, let response = error.response {
                .failure(error.withResponse(response.withContent()))
            } else {
                ending
            }
    }
}

/// The sequence of ``APIProxy/endings``, which reads from its creation on.
final class EndedRequests: AsyncSequence, Sendable {
    typealias Element = EndedRequest
    typealias Failure = Never

    static let capacity = 1_024

    private let publisher: EndingPublisher
    /// Until an iterator takes it.
    private let first: Lock<EndingPublisher.Reader?>

    init(of publisher: EndingPublisher) {
        self.publisher = publisher
        first = Lock(publisher.makeReader())
    }

    /// The first one reads from when the sequence was created, each further one from now.
    func makeAsyncIterator() -> Iterator {
        let reader = first.withLock { exchange(&$0, with: nil) } ?? publisher.makeReader()
        return Iterator(endings: reader.endings.makeAsyncIterator(), last: reader.last)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var endings: AsyncStream<EndingPublisher.Numbered>.Iterator
        /// The number of the last ending that was read.
        fileprivate var last: Int

        mutating func next(isolation actor: isolated (any Actor)?) async -> EndedRequest? {
            guard !Task.isCancelled, let next = await endings.next(isolation: actor) else { return nil }
            var ended = next.ended
            ended.droppedCount = next.number - exchange(&last, with: next.number) - 1
            return ended
        }
    }
}

/// Passes the endings of a proxy's loads to its readers, with numbers that tell a reader what was dropped for it.
final class EndingPublisher: Sendable {
    typealias Numbered = (number: Int, ended: EndedRequest)
    /// What a reader reads, and the number of the last ending before it.
    typealias Reader = (endings: AsyncStream<Numbered>, last: Int)

    private struct State {
        var lastNumber = 0
        var readers: [Int: AsyncStream<Numbered>.Continuation] = [:]
        var isFinished = false
    }

    private let state = Lock(State())

    func makeReader() -> Reader {
        let (endings, continuation) = AsyncStream<Numbered>.makeStream(
            bufferingPolicy: .bufferingNewest(EndedRequests.capacity)
        )
        let id = WaiterNumber.next()
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.readers.removeValue(forKey: id) } }
        let (last, isFinished) = state.withLock { state in
            state.readers[id] = continuation
            return (state.lastNumber, state.isFinished)
        }
        if isFinished { continuation.finish() }
        return (endings, last)
    }

    func publish(_ make: () -> EndedRequest) {
        guard state.withLock({ !$0.readers.isEmpty }) else { return }
        let ended = make()
        // In the lock, so that all readers have the same order; what is dropped is released outside.
        state.withLock { state in
            state.lastNumber += 1
            return state.readers.values.map { $0.yield((state.lastNumber, ended)) }
        }
    }

    /// Readers receive what they have not received yet, and then `nil`.
    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
