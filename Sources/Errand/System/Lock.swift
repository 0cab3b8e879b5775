#if THREAD_SANITIZER
import Foundation
#else
import Synchronization
#endif

/// A value that is read and changed while a lock is held.
///
/// Built for the thread sanitizer, it uses `NSLock`, because on Linux the sanitizer does not recognize the synchronization of
/// `Mutex`, and reports races that do not exist.
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    #if THREAD_SANITIZER
    // `value` is used only while `lock` is held.
    private final class Storage: @unchecked Sendable {
        let lock = NSLock()
        var value: Value

        init(_ value: consuming sending Value) { self.value = value }
    }

    private let storage: Storage

    package init(_ value: consuming sending Value) { storage = Storage(value) }
    #else
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }
    #endif

    /// Calls `body` with the lock held, and releases no part of its result before the lock is unlocked.
    ///
    /// Return what is removed from the value, needed or not: releasing an app's object can run code of the app, such as a `deinit`
    /// that calls the owner of this lock.
    @discardableResult
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        #if THREAD_SANITIZER
        storage.lock.lock()
        defer { storage.lock.unlock() }
        return try body(&storage.value)
        #else
        // Otherwise, the optimizer may release an unused result, or the unused parts of one, while the lock is held.
        let result = try mutex.withLock(body)
        withExtendedLifetime(result) {}
        return result
        #endif
    }
}

extension Dictionary {
    /// Returns the value of a key, which is `new` from now on if there is none.
    mutating func value(for key: Key, orElse new: Value) -> Value {
        let value = self[key] ?? new
        self[key] = value
        return value
    }
}
