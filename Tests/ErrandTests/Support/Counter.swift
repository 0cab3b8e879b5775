import Synchronization

@testable import Errand

/// Counts from 1.
final class Counter: Sendable {
    private let last = Mutex(0)

    func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }

    var count: Int { last.withLock { $0 } }
}
