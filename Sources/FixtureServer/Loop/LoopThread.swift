import Foundation

/// A dedicated thread for a function that runs long.
final class LoopThread: Sendable {
    private let thread: ObjectIdentifier
    private let ended: DispatchSemaphore

    /// Starts `body` on a new thread.
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
