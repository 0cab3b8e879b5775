/// How other threads speak to the loop.
final class Inbox: Sendable {
    /// What the loop can be told.
    enum Message: Sendable {
        /// Listen to these, which are the loop's alone from now on.
        case listen([Listener])
        /// Go on with a connection that waits at a gate.
        case resume(connection: Int, ticket: Int)
        /// Run this on the loop after a while.
        case run(after: Duration, @Sendable () -> Void)
        /// Take connections, or leave them in the backlog.
        case setAccepting(Bool)
        /// End; answers that are under way may take this long.
        case stop(grace: Duration)
    }

    private struct State {
        var messages: [Message] = []
        var isClosed = false
    }

    private let state = Guarded(State())
    private let waker: Waker

    init() throws {
        waker = try Waker()
    }

    /// The descriptor that is readable while there are messages.
    var number: Int32 { waker.number }

    /// Leaves a message; returns whether there still is a loop to read it.
    @discardableResult func post(_ message: Message) -> Bool {
        let (wasEmpty, isClosed) = state.withLock { state in
            let wasEmpty = state.messages.isEmpty
            if !state.isClosed { state.messages.append(message) }
            return (wasEmpty, state.isClosed)
        }
        if wasEmpty, !isClosed { waker.wake() }
        return !isClosed
    }

    /// Takes all messages.
    func drain() -> [Message] {
        waker.reset()
        return state.withLock { state in
            defer { state.messages.removeAll() }
            return state.messages
        }
    }

    /// Refuses messages from now on.
    func close() {
        state.withLock { $0.isClosed = true }
    }
}
