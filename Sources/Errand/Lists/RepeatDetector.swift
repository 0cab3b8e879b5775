import Foundation

/// Detects a server that sends the same page repeatedly, or one page without new items after the other.
struct RepeatDetector {
    /// The number of equal pages in a row, after the first of them, that is not accepted.
    private static let maxRepeats = 3
    /// More pages without new items than a filter of the server explains.
    private static let maxEmptyPages = 100

    /// The number of pages in a row without a new item.
    private(set) var emptyPageRun = 0
    private(set) var newestBody = Data()
    private var repeats = 0

    /// Whether the next page should not be requested.
    var isRepeating: Bool { repeats >= Self.maxRepeats || emptyPageRun >= Self.maxEmptyPages }

    /// Records a page that has been added to the list.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - hasNewItems: Whether the page has added items to the list.
    ///   - hasIDs: Whether the list has an ``ItemID``, which decides what a repeat is.
    mutating func record(_ page: PageInfo, hasNewItems: Bool, hasIDs: Bool) {
        emptyPageRun = hasNewItems ? 0 : emptyPageRun + 1
        let isRepeat = hasIDs ? !hasNewItems : page.response.body == newestBody
        repeats = isRepeat && page.itemCount > 0 ? repeats + 1 : 0
        newestBody = page.response.body
    }

    /// Forgets as many repeats as pages were removed from the end of the list, which are loaded once more.
    mutating func removeLast(_ count: Int) {
        repeats = max(0, repeats - count)
    }
}
