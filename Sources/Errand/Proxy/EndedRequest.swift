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
    private let first: Lock<EndingReader?>

    init(of publisher: EndingPublisher) {
        self.publisher = publisher
        first = Lock(EndingReader(of: publisher))
    }

    /// The first one reads from when the sequence was created, each further one from now.
    func makeAsyncIterator() -> Iterator {
        Iterator(reader: first.withLock { exchange(&$0, with: nil) } ?? EndingReader(of: publisher))
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: EndingReader

        mutating func next(isolation _: isolated (any Actor)?) async -> EndedRequest? { await reader.next() }
    }
}

/// A reader from its creation to its release.
private final class EndingReader: Sendable {
    private let publisher: EndingPublisher
    private let number = WaiterNumber.next()

    init(of publisher: EndingPublisher) {
        self.publisher = publisher
        publisher.state.withLock { $0.readers[number] = EndingPublisher.Reader() }
    }

    deinit { publisher.state.withLock { $0.readers.removeValue(forKey: number) } }

    func next() async -> EndedRequest? {
        guard !Task.isCancelled else { return nil }
        let waiterNumber = WaiterNumber.next()
        return await withCancellableContinuation(ifCancelled: nil) { waiter in
            publisher.state.withLock { state in
                if let first = state.readers[number]?.removeFirst() { return .some(first) }
                if state.isFinished { return .some(nil) }
                state.readers[number]?.waiters.append((waiterNumber, waiter))
                return nil
            }
        } remove: {
            publisher.state.withLock { state in
                let index = state.readers[number]?.waiters.firstIndex { $0.number == waiterNumber }
                return index.flatMap { state.readers[number]?.waiters.remove(at: $0).waiter }
            }
        }
    }
}

/// Passes the endings of a proxy's loads to its readers, which are in one state so that all have the same order.
final class EndingPublisher: Sendable {
    fileprivate typealias Waiter = CheckedContinuation<EndedRequest?, Never>

    fileprivate struct Reader {
        private var buffer: [EndedRequest] = []
        private var droppedCount = 0
        var waiters: [(number: Int, waiter: Waiter)] = []

        /// Returns who has waited for it; otherwise the one that is dropped for it, for the caller to release.
        mutating func receive(_ ended: EndedRequest) -> (waiter: Waiter?, dropped: EndedRequest?) {
            guard waiters.isEmpty else { return (waiters.removeFirst().waiter, nil) }
            buffer.append(ended)
            guard buffer.count > EndedRequests.capacity else { return (nil, nil) }
            droppedCount += 1
            return (nil, buffer.removeFirst())
        }

        mutating func removeFirst() -> EndedRequest? {
            guard !buffer.isEmpty else { return nil }
            var first = buffer.removeFirst()
            first.droppedCount = exchange(&droppedCount, with: 0)
            return first
        }
    }

    fileprivate struct State {
        var readers: [Int: Reader] = [:]
        var isFinished = false
    }

    fileprivate let state = Lock(State())

    func publish(_ make: () -> EndedRequest) {
        guard state.withLock({ !$0.readers.isEmpty }) else { return }
        let ended = make()
        // Not the keys themselves, which would share the buffers, so that each would be copied.
        let received = state.withLock { state in
            Array(state.readers.keys).compactMap { state.readers[$0]?.receive(ended) }
        }
        for (waiter, _) in received { waiter?.resume(returning: ended) }
    }

    /// Readers receive what they have not received yet, and then `nil`.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return Array(state.readers.keys).flatMap { number in
                exchange(&state.readers[number, default: Reader()].waiters, with: []).map(\.waiter)
            }
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
