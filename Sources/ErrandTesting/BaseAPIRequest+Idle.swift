public import Errand

extension BaseAPIRequest {
    /// Waits until every load of this request has ended and its delegate has been told.
    public func waitUntilIdle() async {
        while isLoading { await Task.yield() }
    }
}
