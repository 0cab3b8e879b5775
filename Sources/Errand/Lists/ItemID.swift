/// The identity of an item: `ItemID(\.id)`.
///
/// Two items with equal IDs are the same item, even if their other properties differ.
public struct ItemID<Item> {
    @usableFromInline let hash: (Item) -> Int
    @usableFromInline let areSame: (Item, Item) -> Bool
    /// Returns what recognizes the item with an ID; `nil` for a value of another type than the IDs.
    @usableFromInline let recognizer: (any Hashable) -> ((Item) -> Bool)?
    /// The type of the IDs.
    @usableFromInline let idType: any Hashable.Type

    /// Creates an identity.
    ///
    /// - Parameter id: Returns the ID of an item. It must depend on the item alone and not use the request: it is called any
    ///   number of times, while the list changes.
    @inlinable public init<ID: Hashable>(_ id: @escaping (Item) -> ID) {
        hash = { id($0).hashValue }
        areSame = { id($0) == id($1) }
        idType = ID.self
        recognizer = { Self.recognizer(of: $0) { id($0) } }
    }

    private init<ID: Hashable>(type: ID.Type, _ id: @escaping (Item) -> ID?) {
        hash = { id($0).hashValue }
        areSame = { id($0) == id($1) }
        idType = ID.self
        recognizer = { Self.recognizer(of: $0, id) }
    }

    /// The `id` of items that are `Identifiable`; `nil` for others.
    static var ofIdentifiable: ItemID? {
        func identity<Model: Identifiable>(_ type: Model.Type) -> ItemID {
            ItemID(type: Model.ID.self) { ($0 as? Model)?.id }
        }
        return (Item.self as? any Identifiable.Type).map { identity($0) }
    }

    /// Returns what recognizes the item with the ID `wanted`; `nil` for a value of another type than the IDs.
    @usableFromInline static func recognizer<ID: Hashable>(
        of wanted: any Hashable,
        _ id: @escaping (Item) -> ID?
    ) -> ((Item) -> Bool)? {
        if let wanted = wanted as? ID { return { id($0) == wanted } }
        // A literal is an `Int`, whatever integer the IDs are.
        guard wanted is any BinaryInteger, ID.self is any BinaryInteger.Type else { return nil }
        let wanted = AnyHashable(wanted)
        return { item in id(item).map { AnyHashable($0) } == wanted }
    }
}

/// The items that a list contains, by their IDs.
///
/// A hash table with eight bytes a slot, in which no ID is stored: half of a slot is the serial number by which the list finds
/// the item, and half is its hash, so that the table grows without another call of ``ItemID``.
struct ItemIndex {
    // Linear probing; 0 is a free slot.
    private var slots: [UInt64] = []
    private var count = 0

    private var mask: Int { slots.count - 1 }

    /// Inserts an item, unless there is one with the same ID.
    ///
    /// - Parameters:
    ///   - hash: The hash of the item's ID.
    ///   - serial: The item's number; never 0.
    ///   - isSame: Returns whether the item with this number has the same ID.
    /// - Returns: Whether the item is new.
    mutating func insert(hash: Int, serial: UInt32, isSame: (UInt32) -> Bool) -> Bool {
        makeRoom()
        let tag = UInt32(truncatingIfNeeded: hash)
        var index = Int(tag) & mask
        while slots[index] != 0 {
            if slots[index].tag == tag, isSame(slots[index].serial) { return false }
            index = (index + 1) & mask
        }
        slots[index] = UInt64(tag: tag, serial: serial)
        count += 1
        return true
    }

    /// Removes an item; does nothing if it is not in the table.
    mutating func remove(hash: Int, serial: UInt32) {
        let entry = UInt64(tag: UInt32(truncatingIfNeeded: hash), serial: serial)
        guard count > 0 else { return }
        var index = Int(entry.tag) & mask
        while slots[index] != entry {
            guard slots[index] != 0 else { return }
            index = (index + 1) & mask
        }
        free(index)
        count -= 1
    }

    /// Frees a slot, and moves the entries that could not be found across a free slot.
    private mutating func free(_ slot: Int) {
        var hole = slot
        var index = (hole + 1) & mask
        while slots[index] != 0 {
            let distance = (index - Int(slots[index].tag)) & mask
            if distance >= (index - hole) & mask {
                slots[hole] = slots[index]
                hole = index
            }
            index = (index + 1) & mask
        }
        slots[hole] = 0
    }

    private mutating func makeRoom() {
        guard count + 1 > slots.count / 8 * 7 else { return }
        let old = slots
        slots = Array(repeating: 0, count: max(16, old.count * 2))
        for entry in old where entry != 0 {
            var index = Int(entry.tag) & mask
            while slots[index] != 0 { index = (index + 1) & mask }
            slots[index] = entry
        }
    }
}

extension UInt64 {
    fileprivate init(tag: UInt32, serial: UInt32) {
        self = UInt64(tag) << 32 | UInt64(serial)
    }

    fileprivate var tag: UInt32 { UInt32(self >> 32) }
    fileprivate var serial: UInt32 { UInt32(truncatingIfNeeded: self) }
}
