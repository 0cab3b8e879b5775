/// Receives the endings of loads; usually the screen.
///
/// Not retained.
///
/// Each load ends in exactly one of the three endings, on the main actor, after the call that began it has returned; a load
/// whose ending a closure or an `async` call receives, or that is part of a batch or chain, does not notify the delegate. Any
/// method may be called inside: load again, cancel, release the request or this delegate.
@MainActor public protocol APIManagerCallbackDelegate: AnyObject {
    /// A load has succeeded; its answer is in ``APIManager/response``.
    func managerCallAPIDidSucceed(_ request: BaseAPIRequest)

    /// A load has failed.
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError)

    /// A load was cancelled. Does nothing by default.
    func managerCallAPIDidCancel(_ request: BaseAPIRequest)

    /// Bytes of an upload or a download have been transferred.
    ///
    /// Called any number of times before the ending, for requests whose ``BaseAPIRequest/reportsProgress`` is true. If the
    /// main actor is busy, only the newest report is delivered. Does nothing by default.
    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress)
}

extension APIManagerCallbackDelegate {
    /// Does nothing.
    public func managerCallAPIDidCancel(_ request: BaseAPIRequest) {}
    /// Does nothing.
    public func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {}
}

/// Shows that a request is loading, for example with a spinner or a line in a terminal.
///
/// Retained by a load until it has ended, so that each call of ``showLoading(_:)`` is followed by one of ``hideLoading()``.
/// Several loads may share an indicator.
@MainActor public protocol LoadingIndicator: AnyObject {
    /// A load has begun. Called once for each load, on the main actor, inside the call that began it.
    func showLoading(_ message: String?)

    /// A load has ended, sent or not. Called once for each load, on the main actor, before the delegate receives the ending.
    func hideLoading()
}
