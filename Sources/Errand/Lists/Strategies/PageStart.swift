/// The point at which a page begins on the server: at a position, or after some items of the page at that position.
///
/// For example, after ``PageAPIRequest/remove(at:onServer:)`` in a list by page number with pages of 20 items, the next item is
/// the last item of a page that is already loaded.
public struct PageStart: Sendable, Equatable {
    /// The position to request.
    public var position: PagePosition
    /// The number of items at the beginning of the response that the list has received already; 0 by default.
    public var precedingItems: Int

    /// Creates a start.
    public init(_ position: PagePosition, precedingItems: Int = 0) {
        self.position = position
        self.precedingItems = precedingItems
    }
}

extension PageStart {
    func items(after other: PagePosition) -> Int? {
        guard other != position else { return precedingItems }
        guard case .offset(let offset) = position, case .offset(let start) = other, offset > start else { return nil }
        return offset - start
    }
}

extension PageStrategy {
    /// Edits may have moved the start.
    func position(before start: PageStart, pageSize: Int) -> PagePosition? {
        guard start.precedingItems == 0 else { return start.position }
        let before = self.start(start, movedBy: -pageSize, pageSize: pageSize)
        return before == start ? nil : before?.position
    }
}
