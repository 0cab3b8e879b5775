/// The identity of an item: `ItemID(\.id)`.
///
/// Two items with equal IDs are the same item, even if their other properties differ.
public struct ItemID<Item> {
    let areSame: (Item, Item) -> Bool
    /// `nil` for a value of another type than the IDs.
    let recognizer: (any Hashable) -> ((Item) -> Bool)?
    let idType: any Hashable.Type
    let makeSet: () -> any ItemSet<Item>

    /// Creates an identity.
    ///
    /// - Parameter id: Returns the ID of an item. Called any number of times while the list changes, so it must depend on the
    ///   item alone and not use the request.
    public init<ID: Hashable>(_ id: @escaping (Item) -> ID) {
        areSame = { id($0) == id($1) }
        recognizer = { wanted in
            if let wanted = wanted as? ID { return { id($0) == wanted } }
            // A literal is an `Int`, whatever integer the IDs are.
            guard wanted is any BinaryInteger, ID.self is any BinaryInteger.Type else { return nil }
            let wanted = AnyHashable(wanted)
            return { AnyHashable(id($0)) == wanted }
        }
        idType = ID.self
        makeSet = { IDSet(id: id) }
    }

    static var ofIdentifiable: ItemID? {
        func identity<Model: Identifiable>(_ type: Model.Type) -> ItemID? { ItemID<Model>(\.id) as? ItemID }
        return (Item.self as? any Identifiable.Type).flatMap { identity($0) }
    }
}

/// A set of items, each with another ID.
protocol ItemSet<Item> {
    associatedtype Item

    func contains(_ item: Item) -> Bool
    mutating func insert(_ item: Item) -> Bool
    mutating func remove(_ item: Item)
}

private struct IDSet<Item, ID: Hashable>: ItemSet {
    let id: (Item) -> ID
    private var ids: Set<ID> = []

    init(id: @escaping (Item) -> ID) { self.id = id }

    func contains(_ item: Item) -> Bool { ids.contains(id(item)) }
    mutating func insert(_ item: Item) -> Bool { ids.insert(id(item)).inserted }
    mutating func remove(_ item: Item) { ids.remove(id(item)) }
}
