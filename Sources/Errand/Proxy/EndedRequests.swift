import Synchronization

/// The endings of the loads of a proxy, for code that is not their delegate: statistics, tests, a widget that is updated.
///
/// ```swift
/// for await load in APIProxy.shared.endings {
///     if case .failure(let error) = load.ending { print(load.path, error.type) }
/// }
/// ```
///
/// ``APIProxy/endings`` returns one, which reads from then on: every load that ends afterwards, once each, in the order of their
/// endings. An ending is passed to the readers before the delegate, the closure or the caller of the load receives it; one that is
/// passed to several has the same order for all. A load of a request ends on the main actor, a plain call on any thread.
///
/// Up to 1,024 endings wait for a slow reader. After that the oldest is dropped for each new one, and the next ending that
/// is read has the number of those that are missing before it; see ``EndedRequest/droppedCount``.
///
/// The iteration ends when its task is cancelled, and when the proxy is released, which the sequence does not retain.
public struct EndedRequests: AsyncSequence, Sendable {
    /// One load that has ended.
    public typealias Element = EndedRequest
    /// The iteration does not throw.
    public typealias Failure = Never

    /// The number of endings that wait for one reader.
    static let capacity = 1_024

    private let publisher: EndingPublisher
    private let first: FirstReader

    init(of publisher: EndingPublisher) {
        self.publisher = publisher
        first = FirstReader(of: publisher)
    }

    /// Creates a reader: the first one reads from when ``APIProxy/endings`` was called, each further one from now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: first.take() ?? EndingReader(of: publisher))
    }

    /// A reader of the endings.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: EndingReader

        /// Returns the next ending; `nil` when the task is cancelled, and after the last ending of a released proxy.
        public mutating func next() async -> EndedRequest? {
            await reader.next()
        }
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
    private let reader: Mutex<EndingReader?>

    init(of publisher: EndingPublisher) {
        reader = Mutex(EndingReader(of: publisher))
    }

    func take() -> EndingReader? { reader.take { exchange(&$0, with: nil) } }
}
