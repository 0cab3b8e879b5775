#if os(Linux)
import Foundation

extension StandardError {
    /// Calls `body`, in which a write to a pipe without a reader fails and does not end the process;
    /// `body` returns whether it has written everything.
    static func withoutSIGPIPE(on descriptor: Int32, _ body: () -> Bool) {
        var (signals, former, noTime) = (sigset_t(), sigset_t(), timespec())
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, &former)
        if !body() { sigtimedwait(&signals, nil, &noTime) }
        pthread_sigmask(SIG_SETMASK, &former, nil)
    }
}
#endif
