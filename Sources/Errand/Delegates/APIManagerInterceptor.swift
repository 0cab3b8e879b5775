/// Observes the steps of a load, and may refuse it: for logging, statistics and last checks.
///
/// Not retained.
///
/// Every method is called on the main actor.
@MainActor public protocol APIManagerInterceptor: AnyObject {
    /// Returns whether a load may be sent.
    ///
    /// Called once for each load, before anything is sent. If it returns false, the load ends as cancelled. True by default.
    func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool

    /// The last response of a load has been received, before it is validated; also one with an error status.
    ///
    /// Called when the load is about to end, so once for most loads; again for the next response of a ``PageAPIRequest`` whose
    /// page is requested again in the same load, because a validator or ``APIManager/reformData(_:)`` has edited the list. Does
    /// nothing by default.
    func request(_ request: BaseAPIRequest, didReceive response: APIResponse)

    /// A load is about to end, and can still be cancelled.
    ///
    /// Called once for each load, before the delegate, also for a cancelled one; once more, with `cancelled`, if the load is
    /// cancelled inside. What is about to succeed may still fail: a download with `storage`, when its file cannot replace the
    /// destination, and a page with `invalidResponse`, when edits of the list have made it out of date too often. Does nothing by
    /// default.
    func request(_ request: BaseAPIRequest, willEnd ending: APIEnding)

    /// A load has ended. Called once for each load, after the delegate. Does nothing by default.
    func request(_ request: BaseAPIRequest, didEnd ending: APIEnding)
}

extension APIManagerInterceptor {
    /// Returns true.
    public func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool { true }
    /// Does nothing.
    public func request(_ request: BaseAPIRequest, didReceive response: APIResponse) {}
    /// Does nothing.
    public func request(_ request: BaseAPIRequest, willEnd ending: APIEnding) {}
    /// Does nothing.
    public func request(_ request: BaseAPIRequest, didEnd ending: APIEnding) {}
}
