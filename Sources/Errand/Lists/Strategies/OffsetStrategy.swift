struct OffsetStrategy: PageStrategy {
    var offsetKey = "offset"
    var limitKey = "limit"
    var limit = 20
    var startOffset = 0
    var totalIsExact = false

    var start: PagePosition { .offset(max(0, startOffset)) }

    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard limit > 0 else { throw PageStrategyError("a page of \(limit) items cannot be requested") }
        guard case .offset(let offset) = position else { throw PageStrategyError("no offset: \(position)") }
        return [offsetKey: offset, limitKey: limit]
    }

    func position(after page: PageInfo) -> PagePosition? {
        guard case .offset(let offset) = page.position else { return nil }
        let (next, overflow) = offset.addingReportingOverflow(page.itemCount)
        guard !overflow, !detector(for: page, offset: offset).isEnd(totalIsExact: totalIsExact) else { return nil }
        return .offset(next)
    }

    func expectation(after page: PageInfo) -> PageExpectation {
        guard case .offset(let offset) = page.position else { return .more }
        return detector(for: page, offset: offset).expectation
    }

    /// The list ignores those items of the previous page that it has already.
    func position(before page: PageInfo) -> PagePosition? {
        guard case .offset(let offset) = page.position, offset > 0 else { return nil }
        return .offset(max(0, offset - (page.largestPage > 0 ? page.largestPage : limit)))
    }

    func start(_ start: PageStart, movedBy count: Int, pageSize: Int) -> PageStart? {
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

extension PageStrategy where Self == StandardPageStrategy {
    /// Pages by the number of items before them: `limit=20&offset=40`.
    ///
    /// The next offset counts the received items, whatever the limit was. The list ends as one by page number does, with `limit`
    /// as its size; `totalIsExact` avoids the request after its last page.
    ///
    /// - Parameters:
    ///   - offsetKey: The name of the parameter for the offset.
    ///   - limitKey: The name of the parameter for the limit.
    ///   - limit: The number of items to request per page; at least 1.
    ///   - startOffset: The offset at which the list starts; 0 instead of a negative one.
    ///   - totalIsExact: Whether the list ends as soon as the server's total is reached. If the total is too small, items are
    ///     missing.
    /// - Returns: The strategy.
    public static func offset(
        offsetKey: String = "offset",
        limitKey: String = "limit",
        limit: Int = 20,
        startOffset: Int = 0,
        totalIsExact: Bool = false
    ) -> Self {
        Self(
            OffsetStrategy(
                offsetKey: offsetKey,
                limitKey: limitKey,
                limit: limit,
                startOffset: startOffset,
                totalIsExact: totalIsExact
            )
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
