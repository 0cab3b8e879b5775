import Foundation

/// Detects a server that sends the same page repeatedly, or one page without new items after the other.
struct RepeatDetector {
    /// Equal pages in a row, after the first of them.
    private static let maxRepeats = 3
    /// More pages without new rows than a filter explains.
    private static let maxEmptyPages = 100

    private(set) var emptyPageRun = 0
    private(set) var newestBody = Data()
    private var repeats = 0

    var isRepeating: Bool { repeats >= Self.maxRepeats || emptyPageRun >= Self.maxEmptyPages }

    /// `isKnown` is whether the list has all items of the page already, by their ``ItemID``; `nil` if that says nothing, because
    /// the app has left out all of them or may have inserted them, or the items have no IDs.
    mutating func record(_ page: PageInfo, hasNewRows: Bool, isKnown: Bool?) {
        emptyPageRun = hasNewRows ? 0 : emptyPageRun + 1
        let isRepeat = isKnown ?? (page.response.body == newestBody)
        repeats = isRepeat && page.itemCount > 0 ? repeats + 1 : 0
        newestBody = page.response.body
    }

    /// The removed pages are loaded once more.
    mutating func removeLast(_ count: Int) {
        repeats = max(0, repeats - count)
    }
}

/// The positions at which a list has requested pages, including those of pages that were dropped at its beginning.
///
/// Leads back to dropped pages, and recognizes a server that names a position again.
struct VisitedPositions {
    // The position before each one.
    private var previous: [PagePosition: PagePosition?] = [:]
    // Those that a page has named as the next one.
    private var next: Set<PagePosition> = []
    /// Whether edits have moved the pages, to positions that have not been visited.
    private(set) var haveMoved = false

    init() {}

    /// Has the positions up to `position` to which `others` leads back.
    init(upTo position: PagePosition?, in others: VisitedPositions) {
        haveMoved = others.haveMoved
        var position = position
        while let known = position, previous[known] == nil, let before = others.previous[known] {
            previous[known] = before
            if others.isNext(known) { next.insert(known) }
            position = before
        }
    }

    func contains(_ position: PagePosition) -> Bool { previous[position] != nil }
    func isNext(_ position: PagePosition) -> Bool { next.contains(position) }

    func position(before position: PagePosition) -> PagePosition? { previous[position] ?? nil }

    /// `named` is the position that the page itself names.
    func position(before position: PagePosition, named: PagePosition?) -> PagePosition? {
        let known = self.position(before: position)
        // A named position that has been visited is a repeat, or a page that has been dropped.
        let isRepeat = named.map { $0 == position || contains($0) } ?? false
        // What has been inserted between both since would be missing, if the page is not one that follows the known one.
        return isRepeat || isNext(position) && known != nil ? known : named
    }

    /// A position that is requested again after itself keeps the position before it.
    mutating func insert(_ position: PagePosition, after before: PagePosition?) {
        previous[position] = .some(before == position ? self.position(before: position) : before)
    }

    mutating func didNameNext(_ position: PagePosition) { next.insert(position) }

    mutating func remove(_ position: PagePosition) { previous[position] = nil }

    /// Edits have moved the pages.
    mutating func removeAllMoved() {
        (previous, next, haveMoved) = ([:], [], true)
    }

    mutating func removeAll(before position: PagePosition) {
        var known = self.position(before: position)
        while let position = known { known = previous.removeValue(forKey: position) ?? nil }
    }
}
