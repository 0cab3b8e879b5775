/// One page of a list, as the server sends it.
///
/// An array of items is one, and so is ``PageModel``; a type of one's own tells where its items stand and what it knows of
/// the whole list.
public protocol PageResponse: Decodable {
    /// What the list is made of.
    associatedtype Item
    /// The items of this page, in their order.
    var items: [Item] { get }
    /// How many items the whole list has; `nil`, the default, if the page does not tell.
    var totalItems: Int? { get }
    /// How many pages the whole list has; `nil`, the default, if the page does not tell.
    var totalPages: Int? { get }
    /// The cursor of the page behind this one, for ``Cursor``; `nil`, the default, if the page does not tell.
    var nextCursor: String? { get }
    /// The cursor of the page in front of this one; `nil`, the default, if the page does not tell.
    var previousCursor: String? { get }
}

extension PageResponse {
    /// Not told.
    public var totalItems: Int? { nil }
    /// Not told.
    public var totalPages: Int? { nil }
    /// Not told.
    public var nextCursor: String? { nil }
    /// Not told.
    public var previousCursor: String? { nil }
}

extension Array: PageResponse where Element: Decodable {
    /// The array itself.
    public var items: [Element] { self }
}
