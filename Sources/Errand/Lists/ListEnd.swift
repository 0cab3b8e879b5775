/// What a server that counts its items says of the end of a list, for strategies that calculate their positions.
///
/// Servers cap, ignore and round the size that was asked for, and their totals may be wrong by one. So the end follows from
/// the items that were received: a total that is not reached means that there is more, but one that is reached ends the list
/// only together with a page that is shorter than others.
struct ListEnd {
    let page: PageFacts
    /// How many items have been received up to the end of the page; `nil` if that is not known.
    let items: Int?
    /// How many pages there are up to this one; `nil` where the server's number of pages has no meaning.
    let pages: Int?
    /// The size that was asked for.
    let size: Int

    /// Whether the page is the last one, as far as that can be said without asking for another page; with an exact total it
    /// is when that is reached.
    func isReached(totalIsExact: Bool) -> Bool {
        guard page.itemCount > 0 else { return true }
        guard missing.map({ $0 > 0 }) != true else { return false }
        return totalIsExact && missing != nil || page.itemCount < size && page.itemCount < page.largestPage
    }

    /// What is to be expected behind the page.
    var expectation: PageExpectation {
        if let missing { return missing > 1 ? .more : .end }
        // Behind another page as long as this one, the size is not what was asked for.
        let isFirst = (page.itemsBefore ?? 0) == 0
        return isFirst && page.itemCount < size && page.totalItems == nil ? .end : .unknown
    }

    /// How many items, or else pages, are missing by the server's total; `nil` if that cannot be said.
    private var missing: Int? {
        if let total = page.totalItems, let items { return total.subtractingClamped(items) }
        // A number of pages may be calculated from the size that was asked for.
        guard let total = page.totalPages, let pages, page.largestPage <= size else { return nil }
        return total.subtractingClamped(pages)
    }
}

extension Int {
    func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    fileprivate func subtractingClamped(_ other: Int) -> Int {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : difference
    }
}
