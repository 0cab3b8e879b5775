/// A door that a test opens once: answers wait before it, or tests wait until an answer has opened it.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Guarded(State())

    /// Creates a closed gate.
    package init() {}

    /// Whether it is open.
    package var isOpen: Bool { state.withLock(\.isOpen) }

    /// Opens it for good; everything that waits goes on.
    package func open() {
        let waiters = state.withLock { state in
            defer { state.waiters.removeAll() }
            state.isOpen = true
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Waits until it is open.
    package func opened() async {
        await withCheckedContinuation { continuation in
            whenOpen { continuation.resume() }
        }
    }

    /// Calls `action` once: now if it is open, otherwise on the thread that opens it.
    func whenOpen(_ action: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiters.append(action) }
            return state.isOpen
        }
        if isOpen { action() }
    }
}
