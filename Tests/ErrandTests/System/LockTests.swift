// Exit tests need child processes.
#if os(macOS) || os(Linux)
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A value taken from a lock is released outside the lock", .timeLimit(.minutes(10)))
struct LockTests {
    /// Two values, of which a caller may use one or none.
    private struct Pair: Sendable {
        var first: DeinitObserver?
        var second: DeinitObserver?
    }

    private final class PairOwner: Sendable {
        let pair = Lock(Pair())

        func fill() {
            let asking = { DeinitObserver { [weak self] in _ = self?.isEmpty } }
            pair.withLock { $0 = Pair(first: asking(), second: asking()) }
        }

        var isEmpty: Bool { pair.withLock { $0.first == nil } }
    }

    @Test(.startsLate) func `An unused result is released outside the lock`() async {
        await #expect(processExitsWith: .success) {
            let guarding = PairOwner()
            guarding.fill()
            guarding.pair.withLock { exchange(&$0.first, with: nil) }
            #expect(guarding.isEmpty)
        }
    }

    @Test(.startsLate) func `The unused part of a result is released outside the lock`() async {
        await #expect(processExitsWith: .success) {
            let guarding = PairOwner()
            guarding.fill()
            let second = guarding.pair.withLock { exchange(&$0, with: Pair()) }.second
            #expect(second != nil)
        }
    }
}
#endif
