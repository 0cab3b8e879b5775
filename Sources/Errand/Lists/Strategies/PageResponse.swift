/// One page of a list, as the server sends it.
///
/// An array of items is a page, and so is ``PageModel``. Your own type must return its items, and may return the totals and
/// cursors that it contains.
public protocol PageResponse: Decodable {
    /// The type of an item.
    associatedtype Item
    /// The items of this page, in their order.
    var items: [Item] { get }
    /// The number of items in the whole list; `nil`, the default, if the page does not contain it.
    var totalItems: Int? { get }
    /// The number of pages in the whole list; `nil`, the default, if the page does not contain it.
    var totalPages: Int? { get }
    /// Whether there is a page after this one; `nil`, the default, if the page does not contain it.
    ///
    /// Decides for `.pageNumber(…)`, `.offset(…)` and `.cursor(…)`, before the totals and the length of the page. A page without
    /// items ends a list by number or offset nevertheless, and one without a cursor a list by cursor.
    var hasMore: Bool? { get }
    /// The cursor of the next page, for `.cursor(…)`; `nil`, the default, if the page does not contain it.
    var nextCursor: String? { get }
    /// The cursor of the previous page; `nil`, the default, if the page does not contain it.
    var previousCursor: String? { get }
}

extension PageResponse {
    /// Returns `nil`: the page does not contain it.
    public var totalItems: Int? { nil }
    /// Returns `nil`: the page does not contain it.
    public var totalPages: Int? { nil }
    /// Returns `nil`: the page does not contain it.
    public var hasMore: Bool? { nil }
    /// Returns `nil`: the page does not contain it.
    public var nextCursor: String? { nil }
    /// Returns `nil`: the page does not contain it.
    public var previousCursor: String? { nil }
}

extension Array: PageResponse where Element: Decodable {
    /// The array.
    public var items: [Element] { self }
}
