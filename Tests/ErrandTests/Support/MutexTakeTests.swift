import Synchronization
import Testing

@testable import Errand

@Suite("What a lock guarded is released when the lock is free", .timeLimit(.minutes(10)))
struct MutexTakeTests {
    /// Two values, of which a caller may need one or none.
    private struct Pair: Sendable {
        var first: Asking?
        var second: Asking?
    }

    private final class Guarding: Sendable {
        let pair = Mutex(Pair())

        func fill() {
            let asking = { Asking { [weak self] in _ = self?.isEmpty } }
            pair.withLock { $0 = Pair(first: asking(), second: asking()) }
        }

        var isEmpty: Bool { pair.withLock { $0.first == nil } }
    }

    @Test func `A result that is not used`() async {
        await #expect(processExitsWith: .success) {
            let guarding = Guarding()
            guarding.fill()
            guarding.pair.take { exchange(&$0.first, with: nil) }
            #expect(guarding.isEmpty)
        }
    }

    @Test func `A result of which one part is used`() async {
        await #expect(processExitsWith: .success) {
            let guarding = Guarding()
            guarding.fill()
            let second = guarding.pair.take { exchange(&$0, with: Pair()) }.second
            #expect(second != nil)
        }
    }
}
