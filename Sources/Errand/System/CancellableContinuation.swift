import Synchronization

/// Suspends the caller until the continuation is resumed or the task is cancelled, whichever is first.
///
/// `store` stores the continuation, or returns a value when there is nothing to wait for; it is called at once, on the caller's
/// actor. `remove` takes the continuation back, unless it was resumed already, when the task is cancelled.
package func withCancellableContinuation<Value: Sendable>(
    ifCancelled cancelled: Value,
    isolation: isolated (any Actor)? = #isolation,
    store: (CheckedContinuation<Value, Never>) -> Value?,
    remove: @Sendable () -> CheckedContinuation<Value, Never>?
) async -> Value {
    await withTaskCancellationHandler {
        // Otherwise the closure leaves the actor.
        _ = isolation
        return await withCheckedContinuation { continuation in
            if let value = store(continuation) { return continuation.resume(returning: value) }
            // Cancelled before it was stored: the handler found nothing to remove.
            if Task.isCancelled { remove()?.resume(returning: cancelled) }
        }
    } onCancel: {
        remove()?.resume(returning: cancelled)
    }
}

/// The numbers of waiters, in the order in which they begin to wait.
package enum WaiterNumber {
    private static let last = Atomic(0)

    package static func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}

#if THREAD_SANITIZER
/// Replaces the standard library's `UnsafeContinuation` in builds for the thread sanitizer, which set this flag.
///
/// When a continuation is resumed before it is awaited, the runtime does not report the ordering to the sanitizer, which then
/// takes the next use of its memory by the task for a race with what `UnsafeContinuation.resume()` has read. What
/// `CheckedContinuation` reads is read in the runtime, which the sanitizer does not see.
typealias UnsafeContinuation = CheckedContinuation

func withUnsafeContinuation<Value: Sendable>(_ body: (CheckedContinuation<Value, Never>) -> Void) async -> Value {
    await withCheckedContinuation(body)
}
#endif
