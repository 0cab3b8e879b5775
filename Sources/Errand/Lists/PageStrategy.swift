/// How a list asks for its pages, and how it knows its end.
///
/// The library's are ``PageNumber``, ``OffsetLimit``, ``Cursor`` and ``LinkHeader``; a type of one's own may do it in any
/// other way. A strategy is a value: it keeps nothing between two pages.
public protocol PageStrategy: Sendable {
    /// Where the first page stands.
    var start: PagePosition { get }

    /// The parameters that ask for the page at `position`; they win over the screen's.
    ///
    /// - Throws: ``PageStrategyError`` when the strategy's own settings make no sense; the load fails with `invalidRequest`.
    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams

    /// Where the page behind this one stands; `nil` when this was the last.
    ///
    /// - Throws: ``PageStrategyError`` when the page tells of one in a way that makes no sense; the next load fails with
    ///   `decoding`.
    func position(after page: PageFacts) throws(PageStrategyError) -> PagePosition?

    /// What is to be expected at the position that ``position(after:)`` has returned; `.more` by default.
    ///
    /// A strategy that cannot tell a last page from others asks for one page too many. This decides what a 404 for that page,
    /// and the same items once more, mean.
    func expectation(after page: PageFacts) -> PageExpectation

    /// Where the page in front of this one stands; `nil`, the default, when this is the first or the strategy knows no way.
    ///
    /// A list that has dropped its first pages (``PageAPIRequest/maxPages``) finds back to them in any case.
    ///
    /// - Throws: ``PageStrategyError`` when the page tells of one in a way that makes no sense; it is as if it did not.
    func position(before page: PageFacts) throws(PageStrategyError) -> PagePosition?
}

extension PageStrategy {
    /// Another page.
    public func expectation(after page: PageFacts) -> PageExpectation { .more }
    /// Not known.
    public func position(before page: PageFacts) -> PagePosition? { nil }
}

/// Why a strategy cannot ask for a page.
public struct PageStrategyError: Error, CustomStringConvertible {
    /// What is wrong, for the developer.
    public let description: String

    /// Creates an error.
    public init(_ description: String) {
        self.description = description
    }
}
