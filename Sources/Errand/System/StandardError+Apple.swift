#if canImport(Darwin)
import Darwin

extension StandardError {
    /// Calls `body`, in which a write to a pipe without a reader fails and does not end the process; not on two threads at a time.
    ///
    /// The signal is sent to the process, not to the thread: blocking it on this thread would not prevent it (`fcntl(2)`).
    ///
    /// Untested.
    static func withoutSIGPIPE(on descriptor: Int32, _ body: () -> Bool) {
        let former = fcntl(descriptor, F_GETNOSIGPIPE)
        _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
        _ = body()
        if former == 0 { _ = fcntl(descriptor, F_SETNOSIGPIPE, 0) }
    }
}
#endif
