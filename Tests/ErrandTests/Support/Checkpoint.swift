import Foundation
import Synchronization

@testable import Errand

/// A point in synchronous code at which a thread waits until the test releases it.
final class Checkpoint: Sendable {
    private let isReachedFlag = Mutex(false)
    private let gate = DispatchSemaphore(value: 0)

    /// Whether a thread waits here or has waited here.
    var isReached: Bool { isReachedFlag.withLock { $0 } }

    /// Waits for ``release()``.
    func pass() {
        isReachedFlag.withLock { $0 = true }
        gate.wait()
        gate.signal()
    }

    /// Releases the waiting thread and all later ones.
    func release() { gate.signal() }
}
