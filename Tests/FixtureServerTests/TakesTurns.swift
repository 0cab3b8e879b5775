import FixtureServer
import Testing

/// Lets few of the tests run at a time that use sockets, clocks or much of the processor: they would time each other.
struct TakesTurns: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    // Around a test as a whole, where waiting does not count towards its time limit.
    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil && !test.isSuite ? self : nil
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await Turnstile.tests.pass(function)
    }
}

extension Trait where Self == TakesTurns {
    static var takesTurns: Self { TakesTurns() }
}
