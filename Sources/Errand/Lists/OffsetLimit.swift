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
    /// The offset at which the list opens; 0 by default, and never below.
    public var first = 0

    /// Creates the strategy.
    public init(offsetKey: String = "offset", limitKey: String = "limit", limit: Int = 20, first: Int = 0) {
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
        switch position {
        case .offset(let offset): return [offsetKey: offset, limitKey: limit]
        case .slice(let offset, let count): return [offsetKey: offset, limitKey: count]
        default: throw PageStrategyError("no offset: \(position)")
        }
    }

    /// The offset behind the page's items, unless the page was the last.
    public func position(after page: PageFacts) -> PagePosition? {
        guard page.itemCount > 0 else { return nil }
        switch page.position {
        case .offset(let offset): return position(behind: offset, page)
        case .slice(let offset, let count): return .offset(offset + count)
        default: return nil
        }
    }

    /// The items in front of the page, as many as a page has or as there are.
    public func position(before page: PageFacts) -> PagePosition? {
        switch page.position {
        case .offset(let offset) where offset >= limit, .slice(let offset, _) where offset >= limit:
            .offset(offset - limit)
        case .offset(let offset) where offset > 0, .slice(let offset, _) where offset > 0:
            .slice(offset: 0, count: offset)
        default: nil
        }
    }

    private func position(behind offset: Int, _ page: PageFacts) -> PagePosition? {
        let (next, overflow) = offset.addingReportingOverflow(page.itemCount)
        guard !overflow else { return nil }
        let isLast = page.totalItems.map { next >= $0 } ?? (page.itemCount < limit)
        return isLast ? nil : .offset(next)
    }
}
