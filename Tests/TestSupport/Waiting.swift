internal import Foundation
package import Testing

/// Suspends the caller while a condition holds, for half a minute at most, which is longer while other tasks occupy its
/// actor; for changes that cannot be awaited.
///
/// Other tasks run meanwhile. A condition that holds for long leaves the processor to what it depends on.
/// After each test of the condition that holds, `turn` is called.
nonisolated(nonsending) package func suspend(
    while condition: @autoclosure () throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation,
    turn: () -> Void = {}
) async rethrows {
    let limit = WaitLimit(minutes: 0.5, sourceLocation)
    var turns = 0
    while try condition() {
        // A turn that sleeps lasts a millisecond or more.
        guard turns < 20_000 || !limit.isOver() else { return }
        turn()
        turns += 1
        // In a cancelled task a sleep returns at once.
        if turns < 1_000 || Task.isCancelled {
            await Task.yield()
        } else {
            try? await Task.sleep(for: .milliseconds(1))
        }
    }
}

/// Blocks the thread of the caller while a condition holds, for five minutes at most; for changes on other threads that
/// no other task of this actor may precede.
package func spin(while condition: @autoclosure () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation)
    rethrows
{
    // Longer than a suspension, because on a busy machine the blocked thread is one of few that the others need.
    let limit = WaitLimit(minutes: 5, sourceLocation)
    while try condition(), !limit.isOver() { sched_yield() }
}

/// The end of a wait that a defect would make endless.
private struct WaitLimit {
    private let minutes: Double
    private let end: ContinuousClock.Instant
    private let sourceLocation: SourceLocation

    init(minutes: Double, _ sourceLocation: SourceLocation) {
        self.minutes = minutes
        end = .now + .seconds(60 * minutes)
        self.sourceLocation = sourceLocation
    }

    /// Returns whether the wait has to end, which it records as an issue.
    func isOver() -> Bool {
        guard ContinuousClock.now >= end else { return false }
        Issue.record("The condition still holds after \(minutes) minutes.", sourceLocation: sourceLocation)
        return true
    }
}

/// Runs `body`, which blocks, on a separate thread.
///
/// On one core, the tasks of all tests share one thread of Dispatch.
package func onSeparateThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
