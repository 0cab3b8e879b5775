/// A page as many servers send it: `{"list":[…],"totalPage":7,"totalRow":137}`, or with `total_count`.
public struct PageModel<Item: Decodable & Sendable>: PageResponse, Sendable {
    private enum CodingKeys: String, CodingKey {
        case list, totalPage, totalRow, totalCount, snakeTotalCount = "total_count"
    }

    /// The items of this page; none where `list` is `null`.
    public let items: [Item]
    /// `totalPage`, where it stands there.
    public let totalPages: Int?
    /// `totalRow`, or else `total_count`, where one stands there.
    public let totalItems: Int?

    /// Reads a page.
    ///
    /// - Throws: `DecodingError` when `list` is missing or one of its items cannot be read.
    public init(from decoder: any Decoder) throws {
        let page = try decoder.container(keyedBy: CodingKeys.self)
        items = try page.decode([Item]?.self, forKey: .list) ?? []
        totalPages = try page.decodeIfPresent(Int.self, forKey: .totalPage)
        totalItems =
            try page.decodeIfPresent(Int.self, forKey: .totalRow)
            ?? page.decodeIfPresent(Int.self, forKey: .snakeTotalCount)
            // What a decoder with the snake case strategy makes of it.
            ?? (try? page.decodeIfPresent(Int.self, forKey: .totalCount))
    }
}

extension PageModel: CustomStringConvertible, CustomReflectable {
    /// The number of items, without their contents.
    public var description: String { "PageModel(\(items.count) items)" }

    /// The page as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["page": description]) }
}
