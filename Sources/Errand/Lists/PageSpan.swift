/// A loaded page: where it begins on the server, and how many items and rows it has.
struct PageSpan {
    var start: PageStart
    /// The number of its items on the server that no page before it contains.
    var receivedCount: Int
    var rowCount: Int
    var expectation: PageExpectation

    var position: PagePosition { start.position }
}

/// The loaded pages in their order.
struct PageSpans {
    private(set) var spans: [PageSpan] = []
    private(set) var receivedCount = 0

    var count: Int { spans.count }
    var isEmpty: Bool { spans.isEmpty }
    var first: PageSpan? { spans.first }
    var last: PageSpan? { spans.last }

    mutating func append(_ span: PageSpan) {
        spans.append(span)
        receivedCount += span.receivedCount
    }

    mutating func prepend(_ span: PageSpan) {
        spans.insert(span, at: 0)
        receivedCount += span.receivedCount
    }

    mutating func setExpectation(_ expectation: PageExpectation) {
        if !isEmpty { spans[count - 1].expectation = expectation }
    }

    /// A page without rows is not counted: it would remove the rows of another one.
    mutating func removeFirst(keeping limit: Int?) -> [PageSpan] {
        let removed = spans.prefix(excess(of: spans, limit: limit))
        spans.removeFirst(removed.count)
        receivedCount -= removed.receivedCount
        return Array(removed)
    }

    mutating func removeLast(keeping limit: Int?) -> [PageSpan] {
        let removed = spans.suffix(excess(of: spans.reversed(), limit: limit))
        spans.removeLast(removed.count)
        receivedCount -= removed.receivedCount
        return Array(removed)
    }

    private func excess(of pages: some Sequence<PageSpan>, limit: Int?) -> Int {
        guard let limit else { return 0 }
        var excess = spans.pagesWithRows - limit
        var count = 0
        for page in pages where excess > 0 {
            count += 1
            if page.rowCount > 0 { excess -= 1 }
        }
        return count
    }

    /// The last page for a row after all; `nil` if there is no page.
    func index(ofRow row: Int) -> Int? {
        var end = 0
        let index = spans.firstIndex { page in
            end += page.rowCount
            return row < end
        }
        return index ?? spans.indices.last
    }

    /// Returns whether the page has the item on the server: a page without items there has rows of the app alone.
    mutating func adjustCounts(by change: Int, ofPage index: Int, isOnServer: Bool) -> Bool {
        spans[index].rowCount += change
        guard isOnServer, change > 0 || spans[index].receivedCount > 0 else { return false }
        spans[index].receivedCount += change
        receivedCount += change
        return true
    }

    mutating func move(after index: Int, _ moved: (PageStart) -> PageStart) {
        for later in spans.indices.dropFirst(index + 1) { spans[later].start = moved(spans[later].start) }
    }
}

extension Sequence where Element == PageSpan {
    var rowCount: Int { reduce(0) { $0 + $1.rowCount } }
    var receivedCount: Int { reduce(0) { $0 + $1.receivedCount } }
    var pagesWithRows: Int { count { $0.rowCount > 0 } }
}

extension Range<Int> {
    func afterInsertion(at row: Int) -> Range<Int> {
        row <= lowerBound ? lowerBound + 1..<upperBound + 1 : row < upperBound ? lowerBound..<upperBound + 1 : self
    }

    func afterRemoval(of row: Int) -> Range<Int> {
        row < lowerBound ? lowerBound - 1..<upperBound - 1 : row < upperBound ? lowerBound..<upperBound - 1 : self
    }
}
