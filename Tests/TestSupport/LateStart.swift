package import Testing

/// Begins a test when the first turns of all tests are over, which begin at once.
///
/// The thread with which Swift Testing waits for exit tests does not pause while one that has ended waits for a turn of the
/// thread pool. Between those first turns that is many seconds, in which it takes a core from all tests.
package struct LateStart: WholeTestTrait {
    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        await Self.turns()
        try await function()
    }

    /// Waits until a turn comes at once, or has come many times on a machine on which none does.
    private static func turns() async {
        for _ in 0..<1_000 {
            let start = ContinuousClock.now
            await Task.yield()
            if start.duration(to: .now) < .milliseconds(10) { return }
        }
    }
}

extension Trait where Self == LateStart {
    /// For exit tests of suites without `limitedConcurrency`.
    package static var startsLate: Self { LateStart() }
}
