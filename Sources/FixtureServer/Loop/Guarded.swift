import Foundation

/// A value that is read and changed under a lock only.
///
/// It replaces the standard library's `Mutex`, for which the thread sanitizer reports false races on Linux, because it
/// does
/// not see how its waiting threads hand the lock over.
// `lock` is held whenever `value` is read or changed.
final class Guarded<Value: Sendable>: @unchecked Sendable {
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
