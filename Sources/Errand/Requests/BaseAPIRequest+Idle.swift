import Observation

extension BaseAPIRequest {
    /// Waits until no load of this request runs and its delegate has been notified of every ending.
    ///
    /// Use this in tests, and in a program that must not exit while loads run. Also waits for a load that the delegate begins in
    /// one of its methods. Retains the request meanwhile, but not its delegate. Returns at once when the calling task is
    /// cancelled.
    ///
    /// ```swift
    /// screen.goodsList.loadData()
    /// await screen.goodsList.waitUntilIdle()
    /// ```
    public func waitUntilIdle() async {
        repeat {
            while isLoading || cancelledCount > 0, !Task.isCancelled { await waitForChange() }
            // Not inside the ending, which is recorded before the delegate is notified.
            await withCheckedContinuation { delivery in proxy.deliver { delivery.resume() } }
        } while (isLoading || cancelledCount > 0) && !Task.isCancelled
    }

    /// Also returns when the calling task is cancelled.
    private func waitForChange() async {
        let (changes, continuation) = AsyncStream<Never>.makeStream()
        withObservationTracking {
            _ = (isLoading, newestEnding)
        } onChange: {
            continuation.finish()
        }
        for await _ in changes {}
    }
}
