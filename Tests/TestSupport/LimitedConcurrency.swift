internal import Foundation
package import Testing

/// A trait whose scope is a whole test, so that a wait before it does not count towards its time limit.
package protocol WholeTestTrait: SuiteTrait, TestTrait, TestScoping where TestScopeProvider == Self {}

extension WholeTestTrait {
    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil && !test.isSuite ? self : nil
    }
}

/// Limits how many tests run at a time that would disturb each other.
package struct LimitedConcurrency: WholeTestTrait {
    fileprivate let semaphore: AsyncSemaphore

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await semaphore.withPermit(function)
    }
}

extension Trait where Self == LimitedConcurrency {
    /// For tests that use sockets, clocks or much processor time.
    package static var limitedConcurrency: Self { LimitedConcurrency(semaphore: .tests) }

    /// For tests that need sockets or clocks, but wait most of their time, so that others go on beside them.
    package static var mostlyWaits: Self { LimitedConcurrency(semaphore: .waitingTests) }

    /// For tests that block a thread while another task has to continue; one at a time, because all threads of the
    /// cooperative pool and of the main actor are two on one core.
    ///
    /// Of a suite's traits it follows `limitedConcurrency`, so that all tests wait for both in the same order.
    package static var blocksThread: Self { LimitedConcurrency(semaphore: .blockingTests) }
}

/// Limits how many tasks run a section at a time; the others are suspended, and the last one of them is the next to run.
///
/// So the tests of a serialized suite follow each other, and none of them waits for all tests of the other suites.
// `lock` is held whenever `state` is read or changed. The thread sanitizer understands NSLock on Linux, and no `Mutex`.
package final class AsyncSemaphore: @unchecked Sendable {
    private struct State {
        var permits: Int
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Shared by all tests of this process that use sockets, clocks or much processor time.
    package static let tests = AsyncSemaphore(permits: 3)

    /// Shared by all tests of this process that need sockets or clocks, and wait most of their time.
    package static let waitingTests = AsyncSemaphore(permits: 3)

    /// Shared by all tests of this process that block a thread while another task has to continue.
    package static let blockingTests = AsyncSemaphore(permits: 1)

    private let lock = NSLock()
    private var state: State

    /// Creates a semaphore that runs up to `permits` sections at a time.
    package init(permits: Int) {
        state = State(permits: permits)
    }

    /// Waits for a permit, and holds it while `body` runs.
    package func withPermit<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        await acquire()
        defer { release() }
        return try await body()
    }

    private func acquire() async {
        await withCheckedContinuation { continuation in
            let hasPermit = lock.withLock {
                guard state.permits > 0 else {
                    state.waiters.append(continuation)
                    return false
                }
                state.permits -= 1
                return true
            }
            if hasPermit { continuation.resume() }
        }
    }

    private func release() {
        let next = lock.withLock { () -> CheckedContinuation<Void, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeLast() }
            state.permits += 1
            return nil
        }
        next?.resume()
    }
}
