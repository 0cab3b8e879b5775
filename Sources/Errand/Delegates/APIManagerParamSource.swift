/// Supplies the parameters of a request; usually the screen.
///
/// Not retained.
@MainActor public protocol APIManagerParamSource: AnyObject {
    /// Returns the parameters of the load that begins now.
    ///
    /// Called on the main actor, inside ``APIManager/loadData(params:indicator:message:)``, once for each load that begins
    /// without given parameters; ``BaseAPIRequest/loadAgain()`` sends the newest parameters again. Return `nil` to send no
    /// parameters; if the parameters are sent as the body, there is then no body.
    func params(for request: BaseAPIRequest) -> APIParams?

    /// Adds files and data to an upload.
    ///
    /// Called on the main actor, each time after ``params(for:)``. Parts need a ``BaseAPIRequest/requestSerializer`` that is
    /// `.multipart` and a method with a body; otherwise the load fails with `invalidRequest`. Adds nothing by default.
    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest)
}

extension APIManagerParamSource {
    /// Adds nothing.
    public func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {}
}
