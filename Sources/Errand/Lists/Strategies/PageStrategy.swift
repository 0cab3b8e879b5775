public import Foundation

/// The way in which a list requests its pages and detects its end.
///
/// The library's strategies are `.pageNumber(size: 50)`, `.offset(limit: 50)`, `.cursor(…)` and `.link`; see
/// ``StandardPageStrategy``. An app may define others. A strategy has no state: it keeps nothing from one page to the next. All
/// members are called on the main actor.
public protocol PageStrategy: Sendable {
    /// The position of the page at which the list starts.
    var start: PagePosition { get }

    /// Returns the parameters that request the page at `position`; they replace the screen's parameters of the same name.
    ///
    /// - Throws: ``PageStrategyError`` when a setting of the strategy is invalid; the load fails with `invalidRequest`.
    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams

    /// Returns the position of the next page; `nil` when this page is the last.
    ///
    /// - Throws: ``PageStrategyError`` if the page contains an invalid position of the next page; the next load then fails with
    ///   `decoding`.
    func position(after page: PageInfo) throws(PageStrategyError) -> PagePosition?

    /// Returns what to expect at the position that ``position(after:)`` returned; `.more` by default.
    ///
    /// A strategy that cannot recognize the last page requests one page too many. The expectation decides whether a 404 or a
    /// repeated page in response to that request is the end of the list.
    func expectation(after page: PageInfo) -> PageExpectation

    /// Returns the position of the previous page; `nil`, the default, when there is none or it is not known.
    ///
    /// A list from which ``PageAPIRequest/maxPages`` has removed the first pages can load them again in any case.
    ///
    /// - Throws: ``PageStrategyError`` if the page contains an invalid position of the previous page; the list then has no
    ///   previous page.
    func position(before page: PageInfo) throws(PageStrategyError) -> PagePosition?

    /// Returns where a page begins after items before the page were added to or removed from the server's list; `nil`, the
    /// default, if the position does not depend on them, as with a cursor.
    ///
    /// - Parameters:
    ///   - start: Where the page began before.
    ///   - count: The number of items that have been added; negative for items that have been removed.
    ///   - pageSize: The number of items in a full page, as received from the server.
    /// - Returns: Where the page begins now.
    func start(_ start: PageStart, movedBy count: Int, pageSize: Int) -> PageStart?

    /// The origins, besides the service's, to which a ``PagePosition/link(_:)`` may lead, as URLs; none by default.
    ///
    /// A request to such an origin contains no body, no header that may be secret, and only the cookies of that origin.
    var allowedOrigins: [URL] { get }
}

extension PageStrategy {
    /// Returns `nil`: positions do not count items.
    public func start(_ start: PageStart, movedBy count: Int, pageSize: Int) -> PageStart? { nil }
    /// Returns no origin but that of the service.
    public var allowedOrigins: [URL] { [] }
    /// Returns `.more`.
    public func expectation(after page: PageInfo) -> PageExpectation { .more }
    /// Returns `nil`.
    public func position(before page: PageInfo) -> PagePosition? { nil }
}

/// Why a strategy cannot request a page.
public struct PageStrategyError: Error, CustomStringConvertible {
    /// A description for the developer.
    public let description: String

    /// Creates an error.
    public init(_ description: String) {
        self.description = description
    }
}

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
