/// Detects the end of a list from the items received and the totals of the server, for strategies that calculate positions.
///
/// Servers cap, ignore and round the requested size, and their totals may be wrong by one. The end therefore follows from the
/// items received: a total that is not reached means that there are more, but a total that is reached ends the list only
/// together with a page that is shorter than another.
struct ListEndDetector {
    let page: PageInfo
    /// Up to the end of the page.
    let receivedItems: Int?
    /// `nil` if the server's number of pages has no meaning.
    let receivedPages: Int?
    let requestedSize: Int

    /// With an exact total, a total that is reached is sufficient.
    func isEnd(totalIsExact: Bool) -> Bool {
        guard page.itemCount > 0 else { return true }
        if let hasMore = page.hasMore { return !hasMore }
        guard missing.map({ $0 > 0 }) != true else { return false }
        // An older total may only prolong the list: it may have grown since.
        if missing == nil, let total = page.lastTotal, let receivedItems, total > receivedItems { return false }
        return totalIsExact && missing != nil || page.itemCount < requestedSize && page.itemCount < page.largestPage
    }

    var expectation: PageExpectation {
        if let hasMore = page.hasMore { return hasMore ? .more : .end }
        if let missing { return missing > 1 ? .more : .end }
        // A second page of the same length means that the server uses another size than the requested one.
        let isFirst = (page.itemsBefore ?? 0) == 0
        return isFirst && page.itemCount < requestedSize && page.totalItems == nil ? .end : .unknown
    }

    /// The number of items, or else pages, missing according to the server's total.
    private var missing: Int? {
        if let total = page.totalItems, let receivedItems { return total.subtractingClamped(receivedItems) }
        // The server may have calculated its number of pages from the requested size.
        guard let total = page.totalPages, let receivedPages, page.largestPage <= requestedSize else { return nil }
        return total.subtractingClamped(receivedPages)
    }
}

extension Int {
    /// `Int.max` if it overflows.
    func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    fileprivate func subtractingClamped(_ other: Int) -> Int {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : difference
    }
}
