/// A page in a common format: `{"list":[…],"totalPage":7,"totalRow":137}`, or with `total_count`; or, of Django REST
/// framework, `{"count":137,"next":"https://…","previous":null,"results":[…]}`.
///
/// In a module with the default isolation `MainActor`, declare the items `nonisolated struct`.
public struct PageModel<Item: Decodable & Sendable>: PageResponse, Sendable {
    private enum CodingKeys: String, CodingKey {
        case list, totalPage, totalRow, totalCount, snakeTotalCount = "total_count", results, count
    }

    /// The items of this page: `results`, or else `list`; empty if it is `null`.
    public let items: [Item]
    /// `totalPage`, if it is present.
    public let totalPages: Int?
    /// `count` beside `results`; otherwise `totalRow`, `total_count` or `totalCount`, if one of them is present.
    public let totalItems: Int?

    /// Decodes a page.
    ///
    /// - Throws: `DecodingError` when `results` and `list` are missing, one of the items cannot be decoded, or a total is no
    ///   number.
    public init(from decoder: any Decoder) throws {
        let page = try decoder.container(keyedBy: CodingKeys.self)
        let hasResults = page.contains(.results)
        items = try page.decode([Item]?.self, forKey: hasResults ? .results : .list) ?? []
        totalPages = try page.decodeIfPresent(Int.self, forKey: .totalPage)
        let count = hasResults ? try page.decodeIfPresent(Int.self, forKey: .count) : nil
        let rows = try count ?? page.decodeIfPresent(Int.self, forKey: .totalRow)
        let total = try rows ?? page.decodeIfPresent(Int.self, forKey: .snakeTotalCount)
        // A decoder with the snake case strategy converts the name.
        totalItems = total ?? (try? page.decodeIfPresent(Int.self, forKey: .totalCount))
    }
}

extension PageModel: RedactedDescription {
    /// The number of items, without their contents.
    public var description: String { "PageModel(\(items.count) items)" }
}
