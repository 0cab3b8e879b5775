/// The sequence of ``APIProxy/endings``, which reads from its creation on.
struct EndedRequests: AsyncSequence, Sendable {
    typealias Element = EndedRequest
    typealias Failure = Never

    static let capacity = 1_024

    private let publisher: EndingPublisher
    private let first: FirstReader

    init(of publisher: EndingPublisher) {
        self.publisher = publisher
        first = FirstReader(of: publisher)
    }

    /// The first one reads from when the sequence was created, each further one from now.
    func makeAsyncIterator() -> Iterator {
        Iterator(reader: first.take() ?? EndingReader(of: publisher))
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: EndingReader

        mutating func next() async -> EndedRequest? { await reader.next() }
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

/// The reader that has begun with its sequence, until an iterator takes it.
private final class FirstReader: Sendable {
    private let reader: Lock<EndingReader?>

    init(of publisher: EndingPublisher) { reader = Lock(EndingReader(of: publisher)) }

    func take() -> EndingReader? { reader.withLock { exchange(&$0, with: nil) } }
}
