public import Errand
import Observation

extension BaseAPIRequest {
    /// Waits until every load of this request has ended and its delegate has been notified.
    ///
    /// Returns at once when the calling task is cancelled.
    public func waitUntilIdle() async {
        while isLoading, !Task.isCancelled { await waitForChange() }
        // A cancelled load is no longer counted, but its delegate may not have been notified yet.
        await withCheckedContinuation { delivery in proxy.deliver { delivery.resume() } }
    }

    /// Waits until a load begins or ends, or the calling task is cancelled.
    private func waitForChange() async {
        let (changes, continuation) = AsyncStream<Never>.makeStream()
        withObservationTracking {
            _ = isLoading
        } onChange: {
            continuation.finish()
        }
        for await _ in changes {}
    }
}
