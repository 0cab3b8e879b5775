import Errand
import Synchronization

/// An event that happens once: a test opens the gate for waiting responses, or a response opens it for waiting tests.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    package init() {}

    /// Whether the gate is open.
    package var isOpen: Bool { state.withLock(\.isOpen) }

    /// Opens the gate for good and resumes everything that waits for it.
    package func open() {
        let waiters = state.withLock { state in
            defer { state.waiters.removeAll() }
            state.isOpen = true
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Waits until the gate is open.
    package func opened() async {
        await withCheckedContinuation { continuation in
            whenOpen { continuation.resume() }
        }
    }

    /// Calls `action` once: now if the gate is open, otherwise on the thread that opens it.
    func whenOpen(_ action: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiters.append(action) }
            return state.isOpen
        }
        if isOpen { action() }
    }
}
