import Errand
import Synchronization

/// Holds the requests of a storm until the expected number of them has arrived.
final class Barrier: Sendable {
    private let expected: Int
    private let waiters = Mutex<[CheckedContinuation<Void, Never>]>([])

    init(_ expected: Int) {
        self.expected = expected
    }

    /// Waits until all have arrived.
    func arrive() async {
        await withCheckedContinuation { waiter in
            let all = waiters.withLock { waiters in
                waiters.append(waiter)
                return waiters.count == expected ? waiters : []
            }
            for waiter in all { waiter.resume() }
        }
    }
}
