/// Pages by number and size: `page=1&pageSize=20`.
///
/// The end is told by the total of pages or items where the server gives one, by a page that is not full where it does
/// not, and always by an empty page.
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

    /// Creates the strategy.
    public init(
        first: Int = 1,
        pageKey: String = "page",
        sizeKey: String = "pageSize",
        size: Int = 20,
        opening: Int? = nil
    ) {
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
        return isLast(page, loadedPages: number.subtractingReportingOverflow(first).partialValue &+ 1)
            ? nil : .number(number + 1)
    }

    /// The number before, down to ``first``.
    public func position(before page: PageFacts) -> PagePosition? {
        guard case .number(let number) = page.position, number > first else { return nil }
        return .number(number - 1)
    }

    private func isLast(_ page: PageFacts, loadedPages: Int) -> Bool {
        if let total = page.totalPages { return loadedPages >= total }
        if let total = page.totalItems { return !total.isMore(than: loadedPages, pagesOf: size) }
        return page.itemCount < size
    }
}

extension Int {
    /// Whether a list of this many items reaches behind its first `count` pages.
    fileprivate func isMore(than count: Int, pagesOf size: Int) -> Bool {
        let (items, overflow) = count.multipliedReportingOverflow(by: size)
        return !overflow && self > items
    }
}
