import Synchronization

@testable import Errand

/// A latch that a test opens once; the wait of a cancelled task ends at once.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Mutex(State())

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async throws(TransportError) {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { enter($0, number) }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
        if Task.isCancelled { throw TransportError(.cancelled, "cancelled at a gate") }
    }

    /// Waits for the latch even when the task is cancelled, like work that ignores its cancel.
    func waitIgnoringCancellation() async {
        await Task { try? await wait() }.value
    }

    private func enter(_ waiter: CheckedContinuation<Void, Never>, _ number: Int) {
        let mayPass = state.withLock { state in
            guard !state.isOpen, !Task.isCancelled else { return true }
            state.waiters[number] = waiter
            return false
        }
        if mayPass { waiter.resume() }
    }
}
