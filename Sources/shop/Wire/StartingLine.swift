import Errand
import Synchronization

/// Holds requests back until as many are there as are expected, so that they leave at once.
final class StartingLine: Sendable {
    private struct State {
        var expected = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Holds the next `count` requests back until all of them are there.
    func expect(_ count: Int) {
        state.withLock { $0.expected = count }
    }

    /// Returns when all are there; at once when none is expected, or when one of them is cancelled.
    func cross() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    state.waiting.append(continuation)
                    return state.waiting.count >= state.expected
                }
                if isOpen { open() }
            }
        } onCancel: {
            open()
        }
    }

    private func open() {
        let waiting = state.withLock { state in
            state.expected = 0
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
