/// What makes an item itself: `ItemID(\.id)`.
///
/// Two items whose IDs are equal are the same item, whatever else is in them.
public struct ItemID<Item> {
    @usableFromInline let hash: (Item) -> Int
    @usableFromInline let areSame: (Item, Item) -> Bool

    /// Creates an identity.
    ///
    /// - Parameter id: The ID of an item. A function of the item alone: it is called any number of times, while the list
    ///   changes, and must leave the request alone.
    @inlinable public init<ID: Hashable>(_ id: @escaping (Item) -> ID) {
        hash = { id($0).hashValue }
        areSame = { id($0) == id($1) }
    }
}
