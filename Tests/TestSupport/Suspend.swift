internal import Foundation
package import Testing

/// Suspends the caller while a condition holds, for five minutes at most; for changes that cannot be awaited.
///
/// Other tasks run meanwhile. A condition that holds for long leaves the processor to what it depends on.
/// After each test of the condition that holds, `turn` is called.
nonisolated(nonsending) package func suspend(
    while condition: @autoclosure () throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation,
    turn: () -> Void = {}
) async rethrows {
    let limit = WaitLimit(sourceLocation)
    var turns = 0
    while try condition() {
        guard !limit.isOver() else { return }
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
    let limit = WaitLimit(sourceLocation)
    while try condition(), !limit.isOver() { sched_yield() }
}

/// The end of a wait that a defect would make endless.
private struct WaitLimit {
    private let end = ContinuousClock.now + .seconds(300)
    private let sourceLocation: SourceLocation

    init(_ sourceLocation: SourceLocation) { self.sourceLocation = sourceLocation }

    /// Returns whether the wait has to end, which it records as an issue.
    func isOver() -> Bool {
        guard ContinuousClock.now >= end else { return false }
        Issue.record("The condition still holds after five minutes.", sourceLocation: sourceLocation)
        return true
    }
}
