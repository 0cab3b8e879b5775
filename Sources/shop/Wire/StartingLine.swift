import Errand
import Synchronization

/// A transport that holds the expected number of requests, and then sends all of them.
///
/// Nothing is added to a request afterwards: a session or a key that the response to one of them renews is not in another.
final class StartingLine: HTTPTransport {
    private struct State {
        var expected = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let transport: any HTTPTransport
    private let state = Mutex(State())

    /// Creates a barrier before another transport.
    init(before transport: any HTTPTransport) {
        self.transport = transport
    }

    var capacity: TransportCapacity { transport.capacity }

    /// Lets the next `count` requests wait for each other.
    func expect(_ count: Int) {
        state.withLock { $0.expected = count }
    }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        await cross()
        return try await transport.send(request, progress: progress)
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
