import Errand
import Synchronization

/// The requests of a storm that are refused together, when the expected number of them has arrived.
final class StormRefusals: Sendable {
    private let expected: Int
    private let waiters = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let replayed = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)

    init(_ expected: Int) {
        self.expected = expected
    }

    /// The number of requests that were sent again.
    var replays: Int { replayed.load(ordering: .relaxed) }

    /// Counts a request that is sent again.
    func countReplay() { replayed.add(1, ordering: .relaxed) }

    /// Waits until all requests have arrived, and counts a refusal.
    func refuse() async {
        await withCheckedContinuation { waiter in
            let all = waiters.withLock { waiters in
                waiters.append(waiter)
                return waiters.count == expected ? waiters : []
            }
            for waiter in all { waiter.resume() }
        }
        refused.add(1, ordering: .relaxed)
    }

    /// Waits until all requests have been refused, and their loads know it.
    func waitUntilAllAreRefused() async throws {
        while refused.load(ordering: .relaxed) < expected { try await Task.sleep(for: .milliseconds(5)) }
        // The last refusal is on its way from the transport to the load.
        try await Task.sleep(for: .milliseconds(100))
    }
}
