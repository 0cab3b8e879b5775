/// Pages by the number of items in front of them: `offset=40&limit=20`.
///
/// The next offset counts the items that were received, whatever the limit was. The list ends as with ``PageNumber``: with an
/// empty page; with a page that is shorter than ``limit`` and than a page before, once the total is reached where the server
/// sends one; and with a 404 for a page that no total promises.
public struct OffsetLimit: PageStrategy {
    /// The name of the parameter for the offset.
    public var offsetKey = "offset"
    /// The name of the parameter for the size.
    public var limitKey = "limit"
    /// How many items a page has; at least 1.
    public var limit = 20
    /// The offset at which the list opens; 0 by default, and never below.
    public var first = 0
    /// Whether the list ends as soon as the server's total is reached; false by default.
    ///
    /// With a total that is too small, rows are lost; without this, one more page is asked for where the last page is as long
    /// as those before, or the only one.
    public var totalIsExact: Bool

    /// Creates the strategy.
    public init(
        offsetKey: String = "offset",
        limitKey: String = "limit",
        limit: Int = 20,
        first: Int = 0,
        totalIsExact: Bool = false
    ) {
        self.totalIsExact = totalIsExact
        self.first = first
        self.offsetKey = offsetKey
        self.limitKey = limitKey
        self.limit = limit
    }

    /// The offset at which the list opens.
    public var start: PagePosition { .offset(max(0, first)) }

    /// The offset and the limit.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard limit > 0 else { throw PageStrategyError("a page of \(limit) items cannot be asked for") }
        guard case .offset(let offset) = position else { throw PageStrategyError("no offset: \(position)") }
        return [offsetKey: offset, limitKey: limit]
    }

    /// The offset behind the page's items, unless the page was the last.
    public func position(after page: PageFacts) -> PagePosition? {
        guard case .offset(let offset) = page.position else { return nil }
        let (next, overflow) = offset.addingReportingOverflow(page.itemCount)
        guard !overflow, !end(of: page, offset).isReached(totalIsExact: totalIsExact) else { return nil }
        return .offset(next)
    }

    /// Nothing where the total is reached or the page is shorter than ``limit``.
    public func expectation(after page: PageFacts) -> PageExpectation {
        guard case .offset(let offset) = page.position else { return .more }
        return end(of: page, offset).expectation
    }

    /// So many items in front of the page as the server sends in one, or as there are.
    ///
    /// Of the page there, the list takes the items in front of those it has.
    public func position(before page: PageFacts) -> PagePosition? {
        guard case .offset(let offset) = page.position, offset > 0 else { return nil }
        return .offset(max(0, offset - (page.largestPage > 0 ? page.largestPage : limit)))
    }

    private func end(of page: PageFacts, _ offset: Int) -> ListEnd {
        ListEnd(page: page, items: offset.addingClamped(page.itemCount), pages: nil, size: limit)
    }
}
