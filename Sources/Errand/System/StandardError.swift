import Foundation

/// Writes lines to standard error, each complete before the next one.
///
/// Called on any thread. A closed standard error, or a pipe without a reader, loses the lines and does not end the process.
enum StandardError {
    // Held for a system call, so that lines longer than a pipe accepts at once are not mixed.
    private static let writeLock = Lock<Void>(())

    /// Adds a line feed; `descriptor` is another one in tests.
    static func write(line: String, to descriptor: Int32 = STDERR_FILENO) {
        Array("\(line)\n".utf8).withUnsafeBytes { bytes in
            writeLock.withLock { _ in
                withoutSIGPIPE(on: descriptor) { (try? FileDescriptor.write(bytes, to: descriptor)) != nil }
            }
        }
    }

    /// In `body` a write to a pipe without a reader fails and does not end the process; not on two threads at a time.
    private static func withoutSIGPIPE(on descriptor: Int32, _ body: () -> Bool) {
        #if canImport(Darwin)
        // The signal is sent to the process, not to the thread: blocking it on this thread would not prevent it (`fcntl(2)`).
        let former = fcntl(descriptor, F_GETNOSIGPIPE)
        _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
        _ = body()
        if former == 0 { _ = fcntl(descriptor, F_SETNOSIGPIPE, 0) }
        #else
        var (signals, former, noTime) = (sigset_t(), sigset_t(), timespec())
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, &former)
        if !body() { sigtimedwait(&signals, nil, &noTime) }
        pthread_sigmask(SIG_SETMASK, &former, nil)
        #endif
    }
}
