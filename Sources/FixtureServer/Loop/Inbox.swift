import Errand
import Foundation
import Synchronization

#if THREAD_SANITIZER
/// The lock that the thread sanitizer supports.
typealias Mutex = Errand.Mutex
#endif

/// The messages from other threads to the loop.
final class Inbox: Sendable {
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

    private let state = Mutex(State())
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

/// Ends the loop's wait, from any thread.
struct Waker: ~Copyable, Sendable {
    private let reading: Descriptor
    private let writing: Descriptor

    init() throws {
        let ends = try System.pipe()
        reading = Descriptor(ends.reading)
        writing = Descriptor(ends.writing)
    }

    /// The descriptor that becomes readable, for the poller.
    var number: Int32 { reading.number }

    /// Makes the descriptor readable; an error of a full pipe is ignored because the pipe is readable already.
    func wake() {
        var byte: UInt8 = 1
        _ = write(writing.number, &byte, 1)
    }

    /// Makes the descriptor unreadable again.
    func reset() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            while read(reading.number, bytes.baseAddress, bytes.count) == bytes.count {}
        }
    }
}

/// A dedicated thread for a function that runs long.
final class LoopThread: Sendable {
    private let thread: ObjectIdentifier
    private let ended: DispatchSemaphore

    init(name: String, _ body: @escaping @Sendable () -> Void) {
        let ended = DispatchSemaphore(value: 0)
        let thread = Thread {
            body()
            ended.signal()
        }
        thread.name = name
        thread.start()
        self.ended = ended
        self.thread = ObjectIdentifier(thread)
    }

    /// Waits until the thread has ended; returns at once on that thread itself.
    func join() {
        guard thread != ObjectIdentifier(Thread.current) else { return }
        ended.wait()
        ended.signal()
    }
}
