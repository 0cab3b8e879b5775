/// Accepts or refuses what a request sends and gets.
///
/// Not retained.
@MainActor public protocol APIManagerValidator: AnyObject {
    /// Whether these parameters may be sent.
    ///
    /// Called once for each load, on the main actor, after ``BaseAPIRequest/reformParams(_:)`` and before anything is sent.
    /// Refusing ends the load with `invalidRequest`. True by default.
    func request(_ request: BaseAPIRequest, accepts params: APIParams?) -> Bool

    /// Whether this decoded answer is one to show.
    ///
    /// Called once for each answer, on the main actor, before ``APIManager/reformData(_:)``. Refusing ends the load with
    /// `invalidAnswer`. True by default.
    ///
    /// - Parameters:
    ///   - request: The request that asked.
    ///   - content: The decoded answer, an ``APIManager/Response``.
    ///   - response: The raw answer.
    /// - Returns: Whether the load succeeds.
    func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool
}

extension APIManagerValidator {
    /// True.
    public func request(_ request: BaseAPIRequest, accepts params: APIParams?) -> Bool { true }
    /// True.
    public func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool {
        true
    }
}
