/// Supplies the parameters of a request; usually the screen.
///
/// Not retained.
@MainActor public protocol APIManagerParamSource: AnyObject {
    /// Returns the parameters of the load that begins now.
    ///
    /// Called once for each load that begins without given parameters, on the main actor, inside
    /// ``APIManager/loadData(params:indicator:message:)``; ``BaseAPIRequest/loadAgain()`` sends the newest parameters again. `nil`
    /// sends no parameters, and no body if they would be the body.
    func params(for request: BaseAPIRequest) -> APIParams?

    /// Adds files and data to an upload.
    ///
    /// Called on the main actor after ``params(for:)``, and as often. Parts need a ``BaseAPIRequest/requestSerializer`` that is
    /// `.multipart` and a method with a body; otherwise the load fails with `invalidRequest`. Adds nothing by default.
    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest)
}

extension APIManagerParamSource {
    /// Adds nothing.
    public func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {}
}
