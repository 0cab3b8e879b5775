/// Suspends the caller until somebody resumes it, or its task is cancelled: exactly one of the two.
///
/// - Parameters:
///   - cancelled: What a cancelled caller gets.
///   - park: Keeps the continuation where others find it; returns a value instead when there is nothing to wait for.
///   - unpark: Takes the continuation back, unless somebody else has taken it; called when the task is cancelled.
/// - Returns: What the caller was resumed with.
package func suspended<Value: Sendable>(
    ifCancelled cancelled: Value,
    park: (CheckedContinuation<Value, Never>) -> Value?,
    unpark: @Sendable () -> CheckedContinuation<Value, Never>?
) async -> Value {
    await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            if let value = park(continuation) { return continuation.resume(returning: value) }
            // Cancelled before it was parked: the handler found nothing to take back.
            if Task.isCancelled { unpark()?.resume(returning: cancelled) }
        }
    } onCancel: {
        unpark()?.resume(returning: cancelled)
    }
}
