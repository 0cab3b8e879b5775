/// Pages by number and size: `page=1&pageSize=20`.
///
/// The list ends with an empty page; with a page that is shorter than ``size`` and than a page before, once the total is
/// reached where the server sends one; and with a 404 for a page that no total promises. What was asked for does not matter: a
/// server may cap, ignore or round the size. So where the last page is as long as those before, or the only one, one more
/// page is asked for; ``totalIsExact`` saves that request.
public struct PageNumber: PageStrategy {
    /// The number of the first page; 1 by default.
    public var first = 1
    /// The name of the parameter for the number.
    public var pageKey = "page"
    /// The name of the parameter for the size.
    public var sizeKey = "pageSize"
    /// How many items a page has; at least 1.
    public var size = 20
    /// The number of the page at which the list opens; `nil`, the default, is ``first``.
    public var opening: Int?
    /// Whether the list ends as soon as the server's total of items, or else of pages, is reached; false by default.
    ///
    /// With a total that is too small, rows are lost.
    public var totalIsExact: Bool

    /// Creates the strategy.
    public init(
        first: Int = 1,
        pageKey: String = "page",
        sizeKey: String = "pageSize",
        size: Int = 20,
        opening: Int? = nil,
        totalIsExact: Bool = false
    ) {
        self.totalIsExact = totalIsExact
        self.opening = opening
        self.first = first
        self.pageKey = pageKey
        self.sizeKey = sizeKey
        self.size = size
    }

    /// The page at which the list opens.
    public var start: PagePosition { .number(opening ?? first) }

    /// The number and the size.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard size > 0 else { throw PageStrategyError("a page of \(size) items cannot be asked for") }
        guard case .number(let number) = position else { throw PageStrategyError("no page number: \(position)") }
        return [pageKey: number, sizeKey: size]
    }

    /// The next number, unless the page was the last.
    public func position(after page: PageFacts) -> PagePosition? {
        guard case .number(let number) = page.position, page.itemCount > 0, number < .max else { return nil }
        return end(of: page, number).isReached(totalIsExact: totalIsExact) ? nil : .number(number + 1)
    }

    /// Nothing where the total is reached or the page is shorter than ``size``.
    public func expectation(after page: PageFacts) -> PageExpectation {
        guard case .number(let number) = page.position else { return .more }
        return end(of: page, number).expectation
    }

    /// The number before, down to ``first``.
    public func position(before page: PageFacts) -> PagePosition? {
        guard case .number(let number) = page.position, number > first else { return nil }
        return .number(number - 1)
    }

    private func end(of page: PageFacts, _ number: Int) -> ListEnd {
        let (before, overflow) = number.subtractingReportingOverflow(first)
        return ListEnd(
            page: page,
            items: page.itemsBefore?.addingClamped(page.itemCount),
            pages: overflow ? .max : before.addingClamped(1),
            size: size
        )
    }
}
