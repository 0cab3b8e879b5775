/// Receives the endings of loads; usually the screen.
///
/// Not retained.
///
/// Each load calls exactly one of the three ending methods, on the main actor, after the call that began the load has returned.
/// The delegate is not notified of the ending if a closure or an `async` call receives it, or if the load is part of a batch or
/// chain. It is notified of progress and activity in any case, and of elements unless ``APIManager/elements(params:)`` reads them.
/// Inside these methods, you may load again, cancel, and release the request or this delegate.
@MainActor public protocol APIManagerCallbackDelegate: AnyObject {
    /// A load has succeeded; its response is in ``APIManager/response``, unless a newer load has ended.
    func managerCallAPIDidSucceed(_ request: BaseAPIRequest)

    /// A load has failed.
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError)

    /// A load was cancelled. Does nothing by default.
    ///
    /// If a newer load has cancelled it and has not ended, ``BaseAPIRequest/isLoading`` is true.
    func managerCallAPIDidCancel(_ request: BaseAPIRequest)

    /// Bytes of an upload or a download have been transferred.
    ///
    /// Called any number of times before the ending, for requests whose ``APIRequestOptions/reportsProgress`` is true. If the
    /// main actor is busy, only the newest report of each direction is delivered. Does nothing by default.
    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress)

    /// A stored response is shown before the load ends; it is in ``APIManager/cachedResponse``.
    ///
    /// Called at most once for each load, before its ending, for requests with ``CachePolicy/first``, if the delegate
    /// receives the ending as well. `response` tells its ``APIResponse/age``. Does nothing by default.
    func managerCallAPI(_ request: BaseAPIRequest, didLoadCached response: APIResponse)

    /// Elements of a ``StreamAPIRequest`` have arrived; they are in ``StreamAPIRequest/newElements``.
    ///
    /// Called any number of times before the ending, each time with all elements that are ready. Does nothing by default.
    func managerCallAPIDidReceiveElements(_ request: BaseAPIRequest)

    /// The activity of a load has changed: the load waits in the queue, is sent or received, or waits for a login, the network or
    /// another attempt.
    ///
    /// Called any number of times before the ending of each load, for requests whose ``APIRequestOptions/reportsActivity`` is true.
    /// Does nothing by default.
    func managerCallAPI(_ request: BaseAPIRequest, isNow activity: LoadActivity)
}

extension APIManagerCallbackDelegate {
    /// Does nothing.
    public func managerCallAPIDidCancel(_ request: BaseAPIRequest) {}
    /// Does nothing.
    public func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {}
    /// Does nothing.
    public func managerCallAPI(_ request: BaseAPIRequest, didLoadCached response: APIResponse) {}
    /// Does nothing.
    public func managerCallAPIDidReceiveElements(_ request: BaseAPIRequest) {}
    /// Does nothing.
    public func managerCallAPI(_ request: BaseAPIRequest, isNow activity: LoadActivity) {}
}
