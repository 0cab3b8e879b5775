import Foundation
import Synchronization

@testable import Errand

/// A point in synchronous code at which a thread waits until the test has done something.
final class Checkpoint: Sendable {
    private let isReachedFlag = Mutex(false)
    private let gate = DispatchSemaphore(value: 0)

    /// Whether a thread waits here, or has.
    var isReached: Bool { isReachedFlag.withLock { $0 } }

    /// Waits for ``release()``.
    func pass() {
        isReachedFlag.withLock { $0 = true }
        gate.wait()
        gate.signal()
    }

    /// Lets the thread that waits and all later ones go on.
    func release() { gate.signal() }
}
