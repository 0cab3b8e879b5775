import Synchronization

@testable import Errand

/// A counter that starts at 1.
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
