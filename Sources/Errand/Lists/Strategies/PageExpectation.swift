/// What a strategy expects at the position that it returned for the next page.
public enum PageExpectation: Sendable {
    /// Another page. If the server responds with 404, the load fails.
    case more
    /// Unknown. If the server responds with 404, the list ends.
    case unknown
    /// No page. If the server responds with 404 or sends the last page again, the list ends; the page is recognized by the IDs of
    /// its items, by ``PageAPIRequest/itemID`` or `Identifiable`, or else by its bytes.
    case end
}
