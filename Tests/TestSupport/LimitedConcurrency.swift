package import Testing

/// Limits how many tests run at a time that would disturb each other.
package struct LimitedConcurrency: SuiteTrait, TestTrait, TestScoping {
    fileprivate let semaphore: AsyncSemaphore

    package var isRecursive: Bool { true }

    // The scope is the whole test, so that the wait does not count towards its time limit.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil && !test.isSuite ? self : nil
    }

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

    /// For tests that block a thread while another task has to continue; one at a time, because all threads of the
    /// cooperative pool and of the main actor are two on one core.
    ///
    /// Of a suite's traits it follows `limitedConcurrency`, so that all tests wait for both in the same order.
    package static var blocksThread: Self { LimitedConcurrency(semaphore: .blockingTests) }
}
