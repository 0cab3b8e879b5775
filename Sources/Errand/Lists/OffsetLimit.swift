/// Pages by the number of items in front of them: `offset=40&limit=20`.
///
/// The end is told by the total where the server gives one, by a page that is not full where it does not, and always by an
/// empty page.
public struct OffsetLimit: PageStrategy {
    /// The name of the parameter for the offset.
    public var offsetKey = "offset"
    /// The name of the parameter for the size.
    public var limitKey = "limit"
    /// How many items a page has; at least 1.
    public var limit = 20

    /// Creates the strategy.
    public init(offsetKey: String = "offset", limitKey: String = "limit", limit: Int = 20) {
        self.offsetKey = offsetKey
        self.limitKey = limitKey
        self.limit = limit
    }

    /// The first item.
    public var start: PagePosition { .offset(0) }

    /// The offset and the limit.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard limit > 0 else { throw PageStrategyError("a page of \(limit) items cannot be asked for") }
        guard case .offset(let offset) = position else { throw PageStrategyError("no offset: \(position)") }
        return [offsetKey: offset, limitKey: limit]
    }

    /// The offset behind the page's items, unless the page was the last.
    public func position(after page: PageFacts) -> PagePosition? {
        guard case .offset(let offset) = page.position, page.itemCount > 0 else { return nil }
        let (next, overflow) = offset.addingReportingOverflow(page.itemCount)
        guard !overflow else { return nil }
        let isLast = page.totalItems.map { next >= $0 } ?? (page.itemCount < limit)
        return isLast ? nil : .offset(next)
    }
}
