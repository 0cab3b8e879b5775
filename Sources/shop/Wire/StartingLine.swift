import Errand
import Synchronization

/// A barrier that releases requests together when the expected number of them waits; the last adapter of a service.
final class StartingLine: RequestAdapter {
    private struct State {
        var expected = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Lets the next `count` requests wait for each other.
    func expect(_ count: Int) {
        state.withLock { $0.expected = count }
    }

    func adapt(_ request: inout HTTPRequest, context: AdapterContext) async throws {
        await cross()
    }

    /// Waits for the expected requests; returns at once when none is expected, or when a waiting one is cancelled.
    private func cross() async {
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
