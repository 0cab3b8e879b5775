public import Errand

extension BaseAPIRequest {
    /// Waits until every load of this request has ended and its delegate has been told.
    ///
    /// Returns at once when the calling task is cancelled.
    public func waitUntilIdle() async {
        while isLoading, !Task.isCancelled { await Task.yield() }
        // A load that was cancelled counts no more, but its delegate may still have to hear of it.
        await withCheckedContinuation { told in proxy.deliver { told.resume() } }
    }
}
