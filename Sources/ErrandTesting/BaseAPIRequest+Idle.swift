public import Errand

extension BaseAPIRequest {
    /// Waits until every load of this request has ended and its delegate has been notified.
    ///
    /// Returns at once when the calling task is cancelled.
    public func waitUntilIdle() async {
        while isLoading, !Task.isCancelled { await Task.yield() }
        // A cancelled load is no longer counted, but its delegate may not have been notified yet.
        await withCheckedContinuation { told in proxy.deliver { told.resume() } }
    }
}
