/// What a strategy expects behind a page, although it has a position for one.
public enum PageExpectation: Sendable {
    /// Another page: if the server answers 404, the load fails.
    case more
    /// Nothing is known: if the server answers 404, the list ends.
    case unknown
    /// Nothing: if the server answers 404 or sends the items of the last page again, the list ends.
    case end
}
