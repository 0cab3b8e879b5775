/// The messages from other threads to the loop.
final class Inbox: Sendable {
    /// An instruction to the loop.
    enum Message: Sendable {
        /// Listens on these listeners, which only the loop uses from now on.
        case listen([Listener])
        /// Resumes a connection that waits for a gate.
        case resume(connection: Int, waitGeneration: Int)
        /// Calls a function on the loop's thread after a delay.
        case run(after: Duration, @Sendable () -> Void)
        /// Accepts connections, or leaves them in the backlog.
        case setAccepting(Bool)
        /// Stops the loop; responses that are under way may take this long.
        case stop(grace: Duration)
    }

    private struct State {
        var messages: [Message] = []
        var isClosed = false
    }

    private let state = Locked(State())
    private let waker: Waker

    init() throws {
        waker = try Waker()
    }

    /// The descriptor, which is readable while there are messages.
    var number: Int32 { waker.number }

    /// Adds a message; returns `false` when the loop has ended.
    @discardableResult func post(_ message: Message) -> Bool {
        let (wasEmpty, isClosed) = state.withLock { state in
            let wasEmpty = state.messages.isEmpty
            if !state.isClosed { state.messages.append(message) }
            return (wasEmpty, state.isClosed)
        }
        if wasEmpty, !isClosed { waker.wake() }
        return !isClosed
    }

    /// Removes and returns all messages.
    func drain() -> [Message] {
        waker.reset()
        return state.withLock { state in
            defer { state.messages.removeAll() }
            return state.messages
        }
    }

    /// Rejects all later messages.
    func close() {
        state.withLock { $0.isClosed = true }
    }
}
