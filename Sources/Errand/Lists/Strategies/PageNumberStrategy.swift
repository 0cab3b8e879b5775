struct PageNumberStrategy: PageStrategy {
    var first = 1
    var pageKey = "page"
    var sizeKey = "pageSize"
    var size = 20
    /// `nil` is `first`.
    var startNumber: Int?
    var totalIsExact = false

    var start: PagePosition { .number(startNumber ?? first) }

    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard size > 0 else { throw PageStrategyError("a page of \(size) items cannot be requested") }
        guard case .number(let number) = position else { throw PageStrategyError("no page number: \(position)") }
        return [pageKey: number, sizeKey: size]
    }

    func position(after page: PageInfo) -> PagePosition? {
        guard case .number(let number) = page.position, page.itemCount > 0, number < .max else { return nil }
        return detector(for: page, number: number).isEnd(totalIsExact: totalIsExact) ? nil : .number(number + 1)
    }

    func expectation(after page: PageInfo) -> PageExpectation {
        guard case .number(let number) = page.position else { return .more }
        return detector(for: page, number: number).expectation
    }

    func position(before page: PageInfo) -> PagePosition? {
        guard case .number(let number) = page.position, number > first else { return nil }
        return .number(number - 1)
    }

    /// Returns the start that many items further, at the page of the given size that contains it.
    func start(_ start: PageStart, movedBy count: Int, pageSize: Int) -> PageStart? {
        guard case .number(let number) = start.position, pageSize > 0 else { return start }
        let (items, isTooFar) = start.precedingItems.addingReportingOverflow(count)
        let (quotient, rest) = items.quotientAndRemainder(dividingBy: pageSize)
        let (target, isBeyond) = number.addingReportingOverflow(rest < 0 ? quotient - 1 : quotient)
        guard !isTooFar, !isBeyond else { return start }
        guard target >= first else { return PageStart(.number(first)) }
        return PageStart(.number(target), precedingItems: rest < 0 ? rest + pageSize : rest)
    }

    private func detector(for page: PageInfo, number: Int) -> ListEndDetector {
        let (before, overflow) = number.subtractingReportingOverflow(first)
        return ListEndDetector(
            page: page,
            receivedItems: page.itemsBefore?.addingClamped(page.itemCount),
            receivedPages: overflow ? .max : before.addingClamped(1),
            requestedSize: size
        )
    }
}

extension PageStrategy where Self == StandardPageStrategy {
    /// Pages by number and size: `page=1&pageSize=20`.
    ///
    /// The list ends with an empty page, with a 404 for a page that the total does not require, or with a page that is shorter
    /// than both `size` and an earlier page; if the server sends a total, a short page ends the list only after the total has
    /// been reached. The requested size alone decides nothing, because a server may cap, ignore or round it. If the last page is
    /// as long as the others, or is the only page, the list therefore requests one more page; `totalIsExact` avoids that request,
    /// and so does ``PageResponse/hasMore``, which decides before the total and the length of a page; a 404 is a failure
    /// where it was true.
    ///
    /// - Parameters:
    ///   - first: The number of the first page.
    ///   - pageKey: The name of the parameter for the number.
    ///   - sizeKey: The name of the parameter for the size.
    ///   - size: The number of items to request per page; at least 1.
    ///   - startNumber: The number of the page at which the list starts; `nil` is `first`.
    ///   - totalIsExact: Whether the list ends as soon as the server's total is reached. If the total is too small, items are
    ///     missing.
    /// - Returns: The strategy.
    public static func pageNumber(
        first: Int = 1,
        pageKey: String = "page",
        sizeKey: String = "pageSize",
        size: Int = 20,
        startNumber: Int? = nil,
        totalIsExact: Bool = false
    ) -> Self {
        Self(
            PageNumberStrategy(
                first: first,
                pageKey: pageKey,
                sizeKey: sizeKey,
                size: size,
                startNumber: startNumber,
                totalIsExact: totalIsExact
            )
        )
    }

    /// Pages of Django REST framework's `PageNumberPagination`: `?page=2`, with an exact `count`.
    ///
    /// ``PageModel`` is a page of it. `page_size` has an effect if the server's `page_size_query_param` has this name.
    ///
    /// - Parameter size: The number of items to request per page; 20 by default.
    /// - Returns: The strategy.
    public static func djangoPageNumber(size: Int = 20) -> Self {
        .pageNumber(sizeKey: "page_size", size: size, totalIsExact: true)
    }
}
