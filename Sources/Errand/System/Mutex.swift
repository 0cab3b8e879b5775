import Foundation
import Synchronization

extension Mutex where Value: ~Copyable {
    /// Calls `body` with the lock held, and releases no part of its result before the lock is unlocked.
    ///
    /// Use it for everything that is removed from the guarded value, needed afterwards or not. Releasing an app's object can
    /// run code of the app, such as a `deinit` that calls the owner of this lock. With `withLock`, the optimizer may release
    /// a result, or the unused parts of one, while the lock is still held.
    @discardableResult
    package borrowing func take<Taken>(_ body: (inout sending Value) -> sending Taken) -> sending Taken {
        let taken = withLock(body)
        withExtendedLifetime(taken) {}
        return taken
    }
}

#if THREAD_SANITIZER
/// Replaces the standard library's `Mutex` in builds for the thread sanitizer, which set this flag.
///
/// On Linux, the sanitizer does not recognize the synchronization of `Mutex` and reports races that do not exist; it
/// recognizes `NSLock`.
// `value` is used only while `lock` is held.
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
