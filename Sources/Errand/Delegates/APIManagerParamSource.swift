/// Gives a request its parameters; usually the screen.
///
/// Not retained.
@MainActor public protocol APIManagerParamSource: AnyObject {
    /// The parameters of the load that begins now.
    ///
    /// Called once for each load, on the main actor, inside ``APIManager/loadData()``. `nil` sends none.
    func params(for request: BaseAPIRequest) -> APIParams?

    /// Adds files and data to an upload.
    ///
    /// Called once for each load whose ``BaseAPIRequest/requestSerializer`` is `.multipart`, right after
    /// ``params(for:)``. Adds nothing by default.
    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest)
}

extension APIManagerParamSource {
    /// Adds nothing.
    public func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {}
}
