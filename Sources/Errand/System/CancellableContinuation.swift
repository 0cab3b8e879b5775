/// Suspends the caller until the continuation is resumed or the task is cancelled, whichever is first.
///
/// - Parameters:
///   - cancelled: What a cancelled caller is resumed with.
///   - store: Stores the continuation until it is resumed; returns a value instead when there is nothing to wait for.
///   - remove: Takes the continuation back, unless it was resumed already; called when the task is cancelled.
/// - Returns: The value that the continuation was resumed with.
package func withCancellableContinuation<Value: Sendable>(
    ifCancelled cancelled: Value,
    store: (CheckedContinuation<Value, Never>) -> Value?,
    remove: @Sendable () -> CheckedContinuation<Value, Never>?
) async -> Value {
    await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            if let value = store(continuation) { return continuation.resume(returning: value) }
            // Cancelled before it was stored: the handler found nothing to remove.
            if Task.isCancelled { remove()?.resume(returning: cancelled) }
        }
    } onCancel: {
        remove()?.resume(returning: cancelled)
    }
}
