/// Accepts or refuses the parameters and responses of a request.
///
/// Not retained.
@MainActor public protocol APIManagerValidator: AnyObject {
    /// Returns whether these parameters may be sent.
    ///
    /// Called once for each load that the interceptor does not refuse, on the main actor, after
    /// ``BaseAPIRequest/reformParams(_:)`` and before anything is sent.
    /// If it returns false, the load fails with `invalidRequest`. True by default.
    ///
    /// - Throws: Instead of false, why the load fails: an error with the type and the message that the screen shows.
    func request(_ request: BaseAPIRequest, accepts params: APIParams?) throws(APIError) -> Bool

    /// Returns whether this decoded response is valid.
    ///
    /// Called once for each response, on the main actor, before ``APIManager/reformData(_:)``. If it returns false, the
    /// load fails with `invalidResponse`. True by default.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - content: The decoded response, an ``APIManager/Response``.
    ///   - response: The raw response.
    /// - Returns: Whether the load succeeds.
    /// - Throws: Instead of false, why the load fails: an error with the type and the message that the screen shows, which is
    ///   given the response.
    func request(
        _ request: BaseAPIRequest,
        accepts content: any Sendable,
        in response: APIResponse
    ) throws(APIError) -> Bool
}

extension APIManagerValidator {
    /// Returns true.
    public func request(_ request: BaseAPIRequest, accepts params: APIParams?) -> Bool { true }
    /// Returns true.
    public func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool {
        true
    }
}
