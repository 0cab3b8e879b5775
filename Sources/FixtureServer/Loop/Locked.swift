import Foundation

/// A value that is read and changed under a lock only.
///
/// It replaces the standard library's `Mutex`: on Linux the thread sanitizer does not recognize how that lock
/// passes from thread to thread, and reports races that are not there.
// `lock` is held whenever `value` is read or changed.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// Calls `body` with the value while the lock is held.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
