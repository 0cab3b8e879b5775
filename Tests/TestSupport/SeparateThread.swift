internal import Foundation

/// Runs `body`, which blocks, on a separate thread.
///
/// On one core, the tasks of all tests share one thread of Dispatch.
package func onSeparateThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
