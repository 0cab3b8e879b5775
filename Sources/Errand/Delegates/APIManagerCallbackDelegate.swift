/// Hears how loads end; usually the screen.
///
/// Not retained.
///
/// Each load ends in exactly one of the three endings, on the main actor, never before the call that began it has
/// returned. Anything may be done inside: load again, cancel, release the request or this delegate.
@MainActor public protocol APIManagerCallbackDelegate: AnyObject {
    /// A load has succeeded; its answer is in ``APIManager/response``.
    func managerCallAPIDidSucceed(_ request: BaseAPIRequest)

    /// A load has failed.
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError)

    /// A load was cancelled, by whomever. Does nothing by default.
    func managerCallAPIDidCancel(_ request: BaseAPIRequest)

    /// Bytes of an upload or a download have moved.
    ///
    /// Called any number of times before the ending, and never after it, for requests whose
    /// ``BaseAPIRequest/reportsProgress`` is true; reports that come faster than the main actor takes them are skipped but
    /// for the newest. Does nothing by default.
    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress)
}

extension APIManagerCallbackDelegate {
    /// Does nothing.
    public func managerCallAPIDidCancel(_ request: BaseAPIRequest) {}
    /// Does nothing.
    public func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {}
}
