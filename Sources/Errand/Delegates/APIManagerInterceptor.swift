/// Observes the steps of loads and may refuse a load; for logging, statistics and final checks.
///
/// Not retained.
///
/// Every method is called on the main actor.
@MainActor public protocol APIManagerInterceptor: AnyObject {
    /// Returns whether a load may be sent.
    ///
    /// Called once for each load, before anything is sent; not for a `loadIfNeeded` that ends with the response that there is, nor
    /// for a load whose parts are invalid. Return false to end the load as cancelled. Returns true by default.
    func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool

    /// The last response of a load, with any status, has been received and is not yet validated.
    ///
    /// Called when the load is about to end, and so once for most loads. If a validator or ``APIManager/reformData(_:)`` edits a
    /// ``PageAPIRequest`` and the same load therefore requests the page again, this is called again for the next response. Does
    /// nothing by default.
    func request(_ request: BaseAPIRequest, didReceive response: APIResponse)

    /// A load is about to end, and can still be cancelled.
    ///
    /// Called once for each load, cancelled loads included, before the delegate; called again with `cancelled` if the load is
    /// cancelled inside this method. A load with the ending `success` may still fail: a download with `storage`, if its file
    /// cannot replace the destination; a page with `invalidResponse`, if edits of the list have made it out of date too often.
    /// Not called when the request has been released. Does nothing by default.
    func request(_ request: BaseAPIRequest, willEnd ending: APIEnding)

    /// A load has ended. Called once for each load, after the delegate, unless the request has been released. Does nothing by
    /// default.
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
