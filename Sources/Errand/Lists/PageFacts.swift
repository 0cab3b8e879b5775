/// What a strategy may know of a page that has come.
public struct PageFacts: Sendable {
    /// Where the page stands.
    public let position: PagePosition
    /// How many items the server sent in it.
    public let itemCount: Int
    /// How many items the whole list has, if the page told.
    public let totalItems: Int?
    /// How many pages the whole list has, if the page told.
    public let totalPages: Int?
    /// The cursor of the page behind it, if the page told.
    public let nextCursor: String?
    /// The cursor of the page in front of it, if the page told.
    public let previousCursor: String?
    /// The raw answer.
    public let response: APIResponse
    /// How many items the server has sent in the pages in front of this one, repeated items included; `nil` where the list
    /// opened in its middle and its first page has not come.
    public internal(set) var itemsBefore: Int?
    /// The largest number of items that the server has sent in one page of this list, this page included.
    public internal(set) var largestPage: Int

    /// Creates the facts of a page, to test a custom strategy.
    ///
    /// - Parameters:
    ///   - position: Where the page stands.
    ///   - itemCount: How many items the server sent in it.
    ///   - itemsBefore: How many items the server sent in the pages in front of it; `nil`, the default, if that is not known.
    ///   - largestPage: How many items the largest page of the list has; `nil`, the default, if that is this one.
    ///   - totalItems: How many items the whole list has, if the page told.
    ///   - totalPages: How many pages the whole list has, if the page told.
    ///   - nextCursor: The cursor of the page behind it, if the page told.
    ///   - previousCursor: The cursor of the page in front of it, if the page told.
    ///   - response: The raw answer.
    public init(
        position: PagePosition,
        itemCount: Int,
        itemsBefore: Int? = nil,
        largestPage: Int? = nil,
        totalItems: Int? = nil,
        totalPages: Int? = nil,
        nextCursor: String? = nil,
        previousCursor: String? = nil,
        response: APIResponse
    ) {
        self.position = position
        self.itemCount = itemCount
        self.itemsBefore = itemsBefore
        self.largestPage = max(itemCount, largestPage ?? 0)
        self.totalItems = totalItems
        self.totalPages = totalPages
        self.nextCursor = nextCursor
        self.previousCursor = previousCursor
        self.response = response
    }
}

extension PageFacts {
    init(_ page: some PageResponse, at position: PagePosition, _ response: APIResponse) {
        self.init(
            position: position,
            itemCount: page.items.count,
            totalItems: page.totalItems,
            totalPages: page.totalPages,
            nextCursor: page.nextCursor,
            previousCursor: page.previousCursor,
            response: response
        )
    }
}

extension PageFacts: CustomStringConvertible, CustomReflectable {
    /// The position, the number of items and the answer, without cursors.
    public var description: String { "\(position), \(itemCount) items, \(response)" }

    /// The facts as ``description`` has them, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["page": description]) }
}
