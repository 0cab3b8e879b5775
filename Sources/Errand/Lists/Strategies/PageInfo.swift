import Foundation

/// The information about a received page from which a strategy derives the next position.
public struct PageInfo: Sendable {
    /// The position of the page.
    public let position: PagePosition
    /// The number of items that the server sent in the page.
    public let itemCount: Int
    /// The number of items in the whole list, if the page contains it.
    public let totalItems: Int?
    /// The number of pages in the whole list, if the page contains it.
    public let totalPages: Int?
    /// The cursor of the next page, if the page contains it.
    public let nextCursor: String?
    /// The cursor of the previous page, if the page contains it.
    public let previousCursor: String?
    /// The raw response.
    public let response: APIResponse
    /// The number of items that the server sent in all pages before this one, repeated items included; `nil` if the strategy
    /// names a page before those that the list has received, and always when the strategy is asked for that page.
    public internal(set) var itemsBefore: Int?
    /// The largest number of items that the server sent in one page of this list, this page included.
    public internal(set) var largestPage: Int
    /// Whether the server has said that there is a next page.
    var hasMore: Bool?
    /// That of the last page that had one, for a list whose first page alone has it.
    var lastTotal: Int?
    /// Whether an edit of the list since the request has changed the number of its items.
    var isTotalOutdated = false
    /// Parsed when a strategy reads it.
    let json: PageJSON

    /// Creates the information about a page, to test a custom strategy.
    ///
    /// - Parameters:
    ///   - position: The position of the page.
    ///   - itemCount: The number of items that the server sent in the page.
    ///   - itemsBefore: The number of items in all pages before this one; `nil`, the default, if it is not known.
    ///   - largestPage: The number of items in the largest page of the list; `nil`, the default, if that is this page.
    ///   - totalItems: The number of items in the whole list, if the page contains it.
    ///   - totalPages: The number of pages in the whole list, if the page contains it.
    ///   - nextCursor: The cursor of the next page, if the page contains it.
    ///   - previousCursor: The cursor of the previous page, if the page contains it.
    ///   - response: The raw response.
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
        json = PageJSON(response.body)
    }
}

extension PageInfo {
    /// `itemCount` is that before `reformData`; a negative total is that of a server that has not counted.
    init(_ page: some PageResponse, itemCount: Int? = nil, at position: PagePosition, in response: APIResponse) {
        self.init(
            position: position,
            itemCount: itemCount ?? page.items.count,
            totalItems: page.totalItems.flatMap { $0 < 0 ? nil : $0 },
            totalPages: page.totalPages.flatMap { $0 < 0 ? nil : $0 },
            nextCursor: page.nextCursor,
            previousCursor: page.previousCursor,
            response: response
        )
        hasMore = page.hasMore
    }

    /// Returns the position of a page whose URL the response contains, for a strategy that reads another source than `Link`.
    ///
    /// Keeps the percent-encoding of the text. `URL(string:)` encodes it a second time if the text contains an illegal
    /// character, and the server would receive another cursor than it sent.
    ///
    /// - Parameter reference: An absolute URL, or one relative to the response's (RFC 3986 section 4.1).
    /// - Returns: `nil` when it is not a URL.
    public func link(to reference: String) -> PagePosition? {
        link(to: reference.utf8)
    }

    func link(to reference: some Collection<UInt8>) -> PagePosition? {
        URLReference(reference)?.resolved(against: response.url).map(PagePosition.link)
    }
}

extension PageInfo: RedactedDescription {
    /// The position, the number of items and the response, without cursors.
    public var description: String { "\(position), \(itemCount) items, \(response)" }
}

/// The body of a page as JSON, which is parsed at most once for all that a strategy reads in it.
final class PageJSON: Sendable {
    typealias Parser = @Sendable (Data) throws -> JSONValue

    private let body: Data
    private let parse: Parser
    private let parsed = Lock<Result<JSONValue, any Error>?>(nil)

    init(_ body: Data, parse: @escaping Parser = { try JSONValue(json: $0) }) {
        self.body = body
        self.parse = parse
    }

    func value() throws -> JSONValue {
        if let known = parsed.withLock({ $0 }) { return try known.get() }
        let result = Result { try parse(body) }
        parsed.withLock { $0 = result }
        return try result.get()
    }

    /// The parsed body takes more memory than the page.
    func discard() { _ = parsed.withLock { exchange(&$0, with: nil) } }
}

extension PageInfo {
    /// `nil` for an empty body.
    func body(for name: String) throws(PageStrategyError) -> JSONValue? {
        guard !response.body.isEmpty else { return nil }
        do {
            return try json.value()
        } catch {
            throw PageStrategyError(
                "\(name) cannot be read, because the body is not JSON as in RFC 8259 and UTF-8: "
                    + "read it with a custom PageStrategy, from the page's nextCursor"
            )
        }
    }
}
