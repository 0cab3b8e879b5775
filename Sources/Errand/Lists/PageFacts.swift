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

    /// Creates the facts of a page, to test a strategy of one's own.
    ///
    /// - Parameters:
    ///   - position: Where the page stands.
    ///   - itemCount: How many items the server sent in it.
    ///   - totalItems: How many items the whole list has, if the page told.
    ///   - totalPages: How many pages the whole list has, if the page told.
    ///   - nextCursor: The cursor of the page behind it, if the page told.
    ///   - previousCursor: The cursor of the page in front of it, if the page told.
    ///   - response: The raw answer.
    public init(
        position: PagePosition,
        itemCount: Int,
        totalItems: Int? = nil,
        totalPages: Int? = nil,
        nextCursor: String? = nil,
        previousCursor: String? = nil,
        response: APIResponse
    ) {
        self.position = position
        self.itemCount = itemCount
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
