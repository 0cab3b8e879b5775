/// A loaded page: where it begins on the server, and how many items and rows it has.
struct PageSpan {
    var start: PageStart
    /// The position that a page loaded towards the beginning has named as the next one.
    var next: PagePosition?
    /// The number of its items on the server that no page before it contains.
    var receivedCount: Int
    var rowCount: Int
    /// Of these, the last ones, which edits have added where the page ends: the server has them in this page or in the next one.
    var boundaryRowCount = 0
    var expectation: PageExpectation

    var position: PagePosition { start.position }

    mutating func addRows(_ rows: Int, received: Int) {
        rowCount += rows
        receivedCount += received
    }
}

/// The pages of a list, in their order.
extension [PageSpan] {
    /// A page without rows is not counted: it would remove the rows of another one.
    mutating func removeFirst(keeping limit: Int?) -> [PageSpan] {
        var removed = Array(prefix(excess(of: self, limit: limit)))
        removeFirst(removed.count)
        if let last = removed.last, !isEmpty {
            // The page may come back without them.
            let (rows, received) = (last.boundaryRowCount, Swift.min(last.boundaryRowCount, last.receivedCount))
            removed[removed.count - 1].addRows(-rows, received: -received)
            self[0].addRows(rows, received: received)
        }
        return removed
    }

    mutating func removeLast(keeping limit: Int?) -> [PageSpan] {
        let removed = Array(suffix(excess(of: reversed(), limit: limit)))
        removeLast(removed.count)
        return removed
    }

    private func excess(of pages: some Sequence<PageSpan>, limit: Int?) -> Int {
        guard let limit else { return 0 }
        var excess = pagesWithRows - limit
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
        let index = firstIndex { page in
            end += page.rowCount
            return row < end
        }
        return index ?? indices.last
    }

    /// Returns whether the page has the item on the server: a page without items there has rows of the app alone.
    mutating func adjustCounts(by change: Int, ofPage index: Int, row: Int, isOnServer: Bool) -> Bool {
        let end = self[...index].rowCount
        if row >= end - self[index].boundaryRowCount { self[index].boundaryRowCount += change }
        self[index].rowCount += change
        guard isOnServer, change > 0 || self[index].receivedCount > 0 else { return false }
        self[index].receivedCount += change
        return true
    }
}

extension Sequence where Element == PageSpan {
    var rowCount: Int { reduce(0) { $0 + $1.rowCount } }
    var receivedCount: Int { reduce(0) { $0 + $1.receivedCount } }
    var pagesWithRows: Int { count { $0.rowCount > 0 } }
}

extension Range<Int> {
    /// After an insertion or a removal of a row.
    func moved(by change: Int, at row: Int) -> Range<Int> {
        let isBehind = row < lowerBound || change > 0 && row == lowerBound
        return lowerBound + (isBehind ? change : 0)..<upperBound + (isBehind || row < upperBound ? change : 0)
    }
}
