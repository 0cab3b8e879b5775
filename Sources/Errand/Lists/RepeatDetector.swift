import Foundation

/// Detects a server that sends the same page repeatedly, or one page without new items after the other.
struct RepeatDetector {
    /// Equal pages in a row, after the first of them.
    private static let maxRepeats = 3
    /// More pages without new items than a filter of the server explains.
    private static let maxEmptyPages = 100

    private(set) var emptyPageRun = 0
    private(set) var newestBody = Data()
    private var repeats = 0

    var isRepeating: Bool { repeats >= Self.maxRepeats || emptyPageRun >= Self.maxEmptyPages }

    /// An ``ItemID`` decides what a repeat is.
    mutating func record(_ page: PageInfo, hasNewItems: Bool, hasIDs: Bool) {
        emptyPageRun = hasNewItems ? 0 : emptyPageRun + 1
        let isRepeat = hasIDs ? !hasNewItems : page.response.body == newestBody
        repeats = isRepeat && page.itemCount > 0 ? repeats + 1 : 0
        newestBody = page.response.body
    }

    /// The removed pages are loaded once more.
    mutating func removeLast(_ count: Int) {
        repeats = max(0, repeats - count)
    }
}
