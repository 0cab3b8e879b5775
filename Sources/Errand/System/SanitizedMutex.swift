#if THREAD_SANITIZER
import Foundation

/// What stands for the standard library's `Mutex` in builds for the thread sanitizer, which name this flag.
///
/// On Linux the sanitizer does not see how threads that wait for a `Mutex` hand it on, and reports races that are none; it
/// understands the lock in here.
// `lock` is held whenever `value` is touched.
package final class Mutex<Value: ~Copyable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: consuming sending Value) {
        self.value = value
    }

    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
#endif
