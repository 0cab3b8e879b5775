/// Receives the ending of a group of requests; usually the screen.
///
/// Not retained.
///
/// A group ends in exactly one of the three endings, on the main actor, after ``APIGroup/start()`` has returned.
@MainActor public protocol APIGroupDelegate: AnyObject {
    /// The group has succeeded; the responses are in its ``APIOutcome``s, except for requests that were cancelled alone.
    func groupDidSucceed(_ group: APIGroup)

    /// The group has failed; the responses received before are in its ``APIOutcome``s.
    func group(_ group: APIGroup, didFailWith error: APIError)

    /// The group was cancelled. Does nothing by default.
    func groupDidCancel(_ group: APIGroup)

    /// A request has succeeded, failed or been cancelled; called before the group's ending. Does nothing by default.
    func group(_ group: APIGroup, didFinish count: Int, of total: Int)
}

extension APIGroupDelegate {
    /// Does nothing.
    public func groupDidCancel(_ group: APIGroup) {}
    /// Does nothing.
    public func group(_ group: APIGroup, didFinish count: Int, of total: Int) {}
}
