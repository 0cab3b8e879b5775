/// Pages by the number of items before them: `offset=40&limit=20`.
///
/// The next offset counts the received items, whatever the limit was. The list ends as with ``PageNumberStrategy``: with an empty
/// page, with a 404 for a page that the total does not require, or with a page that is shorter than both `limit` and an earlier
/// page; if the server sends a total, a short page ends the list only after the total has been reached.
public struct OffsetStrategy: PageStrategy {
    package var offsetKey = "offset"
    package var limitKey = "limit"
    package var limit = 20
    package var startOffset = 0
    /// If the total is too small, items are missing.
    ///
    /// If this is false, the list requests one page more when its last page is as long as the others, or the only one.
    package var totalIsExact = false

    /// The offset at which the list starts.
    public var start: PagePosition { .offset(max(0, startOffset)) }

    /// Returns the offset and the limit.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard limit > 0 else { throw PageStrategyError("a page of \(limit) items cannot be requested") }
        guard case .offset(let offset) = position else { throw PageStrategyError("no offset: \(position)") }
        return [offsetKey: offset, limitKey: limit]
    }

    /// Returns the offset after the page's items, unless the page is the last.
    public func position(after page: PageInfo) -> PagePosition? {
        guard case .offset(let offset) = page.position else { return nil }
        let (next, overflow) = offset.addingReportingOverflow(page.itemCount)
        guard !overflow, !detector(for: page, offset: offset).isEnd(totalIsExact: totalIsExact) else { return nil }
        return .offset(next)
    }

    /// Returns `.more` if more than one item of the total is missing, `.end` if the total is reached or the first page is
    /// shorter than `limit`, and `.unknown` otherwise.
    public func expectation(after page: PageInfo) -> PageExpectation {
        guard case .offset(let offset) = page.position else { return .more }
        return detector(for: page, offset: offset).expectation
    }

    /// Returns an offset that is lower by the largest number of items received in one page.
    ///
    /// The list ignores those items of the previous page that it has already.
    public func position(before page: PageInfo) -> PagePosition? {
        guard case .offset(let offset) = page.position, offset > 0 else { return nil }
        return .offset(max(0, offset - (page.largestPage > 0 ? page.largestPage : limit)))
    }

    /// Returns the offset that many items further.
    public func start(_ start: PageStart, movedBy count: Int, pageSize: Int) -> PageStart? {
        guard case .offset(let offset) = start.position else { return start }
        return PageStart(.offset(max(0, offset.addingClamped(count))))
    }

    private func detector(for page: PageInfo, offset: Int) -> ListEndDetector {
        ListEndDetector(
            page: page,
            receivedItems: offset.addingClamped(page.itemCount),
            receivedPages: nil,
            requestedSize: limit
        )
    }
}

extension PageStrategy where Self == OffsetStrategy {
    /// Pages by the number of items before them: `offset=40&limit=20`.
    ///
    /// - Parameters:
    ///   - offsetKey: The name of the parameter for the offset.
    ///   - limitKey: The name of the parameter for the limit.
    ///   - limit: The number of items to request per page; at least 1.
    ///   - startOffset: The offset at which the list starts.
    ///   - totalIsExact: Whether the list ends as soon as the server's total is reached.
    /// - Returns: The strategy.
    public static func offset(
        offsetKey: String = "offset",
        limitKey: String = "limit",
        limit: Int = 20,
        startOffset: Int = 0,
        totalIsExact: Bool = false
    ) -> Self {
        Self(
            offsetKey: offsetKey,
            limitKey: limitKey,
            limit: limit,
            startOffset: startOffset,
            totalIsExact: totalIsExact
        )
    }

    /// Pages of Django REST framework's `LimitOffsetPagination`: `?limit=20&offset=40`, with an exact `count`.
    ///
    /// ``PageModel`` is a page of it.
    ///
    /// - Parameter limit: The number of items to request per page; 20 by default.
    /// - Returns: The strategy.
    public static func djangoLimitOffset(limit: Int = 20) -> Self {
        .offset(limit: limit, totalIsExact: true)
    }
}
