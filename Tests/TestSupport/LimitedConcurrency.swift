package import Testing

/// Limits how many tests run at a time that use sockets, clocks or much CPU time and would disturb each other.
package struct LimitedConcurrency: SuiteTrait, TestTrait, TestScoping {
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
        try await AsyncSemaphore.tests.withPermit(function)
    }
}

extension Trait where Self == LimitedConcurrency {
    package static var limitedConcurrency: Self { LimitedConcurrency() }
}
