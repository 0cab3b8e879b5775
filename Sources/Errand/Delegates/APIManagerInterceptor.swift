/// Stands between a request and its delegate: for logging, statistics, and a last word before sending.
///
/// Not retained.
///
/// Every method is called on the main actor.
@MainActor public protocol APIManagerInterceptor: AnyObject {
    /// Whether a load may go on.
    ///
    /// Called once for each load, before anything is sent. Refusing ends the load as cancelled. True by default.
    func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool

    /// An answer has come, good or bad; it is not yet judged. Does nothing by default.
    func request(_ request: BaseAPIRequest, didReceive response: APIResponse)

    /// A load is about to end: the last moment at which it can be cancelled.
    ///
    /// Called before the delegate, and for a cancelled load as well. A download that is about to succeed may still fail with
    /// `storage`, when its file cannot replace the target. Does nothing by default.
    func request(_ request: BaseAPIRequest, willEnd ending: APIEnding)

    /// A load has ended and its delegate has been told. Does nothing by default.
    func request(_ request: BaseAPIRequest, didEnd ending: APIEnding)
}

extension APIManagerInterceptor {
    /// True.
    public func request(_ request: BaseAPIRequest, shouldLoad params: APIParams?) -> Bool { true }
    /// Does nothing.
    public func request(_ request: BaseAPIRequest, didReceive response: APIResponse) {}
    /// Does nothing.
    public func request(_ request: BaseAPIRequest, willEnd ending: APIEnding) {}
    /// Does nothing.
    public func request(_ request: BaseAPIRequest, didEnd ending: APIEnding) {}
}
