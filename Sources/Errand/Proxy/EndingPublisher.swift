import Synchronization

/// Passes the endings of a proxy's loads to its readers, which are in one state so that all have the same order.
final class EndingPublisher: Sendable {
    private typealias Waiter = CheckedContinuation<EndedRequest?, Never>

    private struct Reader {
        var buffer = BoundedBuffer<EndedRequest>(capacity: EndedRequests.capacity)
        var droppedCount = 0
        var waiters: [(number: Int, waiter: Waiter)] = []

        mutating func removeFirst() -> EndedRequest? {
            guard var first = buffer.removeFirst() else { return nil }
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
    // Read at every ending instead of the state, which only readers need.
    private let hasReaders = Atomic(false)

    func addReader() -> Int {
        state.withLock { state in
            let number = state.nextNumber()
            state.readers[number] = Reader()
            hasReaders.store(true, ordering: .releasing)
            return number
        }
    }

    func removeReader(_ number: Int) {
        state.withLock { state in
            let reader = state.readers.removeValue(forKey: number)
            hasReaders.store(!state.readers.isEmpty, ordering: .releasing)
            return reader
        }
    }

    func publish(_ make: () -> EndedRequest) {
        guard hasReaders.load(ordering: .acquiring) else { return }
        let ended = make()
        let (waiters, _) = state.withLock { state in
            var (waiters, dropped): ([Waiter], [EndedRequest?]) = ([], [])
            for number in state.readers.keys {
                if state.readers[number]?.waiters.isEmpty == false {
                    if let first = state.readers[number]?.waiters.removeFirst() { waiters.append(first.waiter) }
                } else if let oldest = state.readers[number]?.buffer.append(ended) {
                    state.readers[number]?.droppedCount += 1
                    dropped.append(oldest)
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

/// Values in their order, at most as many as its capacity; when it is full, the oldest one is dropped for a new one.
///
/// Each operation takes constant time, except that growing copies the values.
struct BoundedBuffer<Element: Sendable>: Sendable {
    private let capacity: Int
    // A ring: the oldest value is at `start`, and its free places are `nil`.
    private var places: [Element?] = []
    private var start = 0
    private(set) var count = 0

    init(capacity: Int) {
        precondition(capacity > 0, "A buffer has a capacity of at least 1")
        self.capacity = capacity
    }

    /// Returns the value that it has replaced, for the caller to release.
    mutating func append(_ element: Element) -> Element? {
        let dropped = count == capacity ? removeFirst() : nil
        if count == places.count { grow() }
        places[(start + count) % places.count] = element
        count += 1
        return dropped
    }

    mutating func removeFirst() -> Element? {
        guard count > 0 else { return nil }
        let first = exchange(&places[start], with: nil)
        start = (start + 1) % places.count
        count -= 1
        return first
    }

    private mutating func grow() {
        let size = min(capacity, max(8, 2 * count))
        let free = [Element?](repeating: nil, count: size - count)
        places = Array(places[start...]) + places[..<start] + free
        start = 0
    }
}
