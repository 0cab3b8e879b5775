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
    private let number: Int

    init(of publisher: EndingPublisher) {
        self.publisher = publisher
        number = publisher.addReader()
    }

    deinit { publisher.removeReader(number) }

    func next() async -> EndedRequest? { await publisher.next(for: number) }
}

/// Passes the endings of a proxy's loads to its readers, which are in one state so that all have the same order.
final class EndingPublisher: Sendable {
    private typealias Waiter = CheckedContinuation<EndedRequest?, Never>

    private struct Reader {
        var buffer: [EndedRequest] = []
        var droppedCount = 0
        var waiters: [(number: Int, waiter: Waiter)] = []

        /// Returns the one that is dropped for it, for the caller to release.
        mutating func append(_ ended: EndedRequest) -> EndedRequest? {
            buffer.append(ended)
            guard buffer.count > EndedRequests.capacity else { return nil }
            droppedCount += 1
            return buffer.removeFirst()
        }

        mutating func removeFirst() -> EndedRequest? {
            guard !buffer.isEmpty else { return nil }
            var first = buffer.removeFirst()
            first.droppedCount = exchange(&droppedCount, with: 0)
            return first
        }
    }

    private struct State {
        var readers: [Int: Reader] = [:]
        var lastNumber = 0
        var isFinished = false

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Lock(State())

    func addReader() -> Int {
        state.withLock { state in
            let number = state.nextNumber()
            state.readers[number] = Reader()
            return number
        }
    }

    func removeReader(_ number: Int) { state.withLock { $0.readers.removeValue(forKey: number) } }

    func publish(_ make: () -> EndedRequest) {
        guard state.withLock({ !$0.readers.isEmpty }) else { return }
        let ended = make()
        let (waiters, _) = state.withLock { state in
            var (waiters, dropped): ([Waiter], [EndedRequest?]) = ([], [])
            for number in state.readers.keys {
                if state.readers[number]?.waiters.isEmpty == false {
                    if let first = state.readers[number]?.waiters.removeFirst() { waiters.append(first.waiter) }
                } else {
                    dropped.append(state.readers[number]?.append(ended))
                }
            }
            return (waiters, dropped)
        }
        for waiter in waiters { waiter.resume(returning: ended) }
    }

    /// Readers receive what they have not received yet, and then `nil`.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return state.readers.keys.flatMap { number in
                exchange(&state.readers[number, default: Reader()].waiters, with: []).map(\.waiter)
            }
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    func next(for reader: Int) async -> EndedRequest? {
        guard !Task.isCancelled else { return nil }
        let number = state.withLock { $0.nextNumber() }
        return await withCancellableContinuation(ifCancelled: nil) { waiter in
            state.withLock { state in
                if let first = state.readers[reader]?.removeFirst() { return .some(first) }
                if state.isFinished { return .some(nil) }
                state.readers[reader]?.waiters.append((number, waiter))
                return nil
            }
        } remove: {
            state.withLock { state in
                let index = state.readers[reader]?.waiters.firstIndex { $0.number == number }
                return index.flatMap { state.readers[reader]?.waiters.remove(at: $0).waiter }
            }
        }
    }
}
