import Foundation

/// A value that is touched under a lock alone.
///
/// The standard library's `Mutex` is this as well, but the thread sanitizer does not see on Linux how its waiting threads
/// hand it over, and reports races that are none.
// `lock` is held whenever `value` is touched.
final class Guarded<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// Reads and changes the value, with every other thread kept out.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
