/// Accepts or refuses the parameters and responses of a request.
///
/// Not retained. A method with other types compiles and is never called, because both methods have defaults.
@MainActor public protocol APIManagerValidator: AnyObject {
    /// Returns whether these parameters may be sent.
    ///
    /// Called at most once for each load, if the interceptor does not refuse it, on the main actor, after
    /// ``BaseAPIRequest/reformParams(_:)`` and before anything is sent; not for a `loadIfNeeded` that ends with the response
    /// that there is. Return false to fail the load with `invalidRequest`. Returns true by default.
    ///
    /// - Throws: The error with which the load fails; throw an ``APIError`` instead of returning false to choose the type and the
    ///   message. Any other error becomes the underlying error of `invalidRequest`.
    func request(_ request: BaseAPIRequest, accepts params: APIParams?) throws -> Bool

    /// Returns whether this decoded response is valid.
    ///
    /// Called once for each response, on the main actor, before ``APIManager/reformData(_:)``. Return false to fail the load with
    /// `invalidResponse`; a stored response of ``CachePolicy/first`` is not shown instead. Returns true by default.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - content: The decoded response, an ``APIManager/Response``.
    ///   - response: The raw response.
    /// - Returns: Whether the load succeeds.
    /// - Throws: The error with which the load fails; throw an ``APIError`` instead of returning false to choose the type and the
    ///   message. Any other error becomes the underlying error of `invalidResponse`. The response is added to the error.
    func request(
        _ request: BaseAPIRequest,
        accepts content: any Sendable,
        in response: APIResponse
    ) throws -> Bool
}

extension APIManagerValidator {
    /// Returns true.
    public func request(_ request: BaseAPIRequest, accepts params: APIParams?) -> Bool { true }
    /// Returns true.
    public func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool {
        true
    }
}
