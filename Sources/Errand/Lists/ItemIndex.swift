/// Which items a list holds, by their IDs.
///
/// A table with eight bytes a slot that keeps no ID: half of a slot is the item's serial number, by which the list finds the
/// item, and half its hash, so that the table grows without asking for the IDs again.
struct ItemIndex {
    // Linear probing; 0 is a free slot.
    private var slots: [UInt64] = []
    private var count = 0

    private var mask: Int { slots.count - 1 }

    /// Enters an item, unless one with its ID is there.
    ///
    /// - Parameters:
    ///   - id: The item's ID.
    ///   - serial: The item's number; never 0.
    ///   - known: The ID of the item with that number.
    /// - Returns: Whether it is new.
    mutating func insert(_ id: AnyHashable, serial: UInt32, known: (UInt32) -> AnyHashable) -> Bool {
        makeRoom()
        let tag = Self.tag(id)
        var place = Int(tag) & mask
        while slots[place] != 0 {
            if slots[place].tag == tag, known(slots[place].serial) == id { return false }
            place = (place + 1) & mask
        }
        slots[place] = UInt64(tag: tag, serial: serial)
        count += 1
        return true
    }

    /// Takes an item out.
    mutating func remove(_ id: AnyHashable, serial: UInt32) {
        let entry = UInt64(tag: Self.tag(id), serial: serial)
        guard count > 0 else { return }
        var place = Int(entry.tag) & mask
        while slots[place] != entry {
            guard slots[place] != 0 else { return }
            place = (place + 1) & mask
        }
        close(place)
        count -= 1
    }

    /// Moves what a free slot would cut off from where its search begins.
    private mutating func close(_ hole: Int) {
        var hole = hole
        var place = (hole + 1) & mask
        while slots[place] != 0 {
            let way = (place - Int(slots[place].tag)) & mask
            if way >= (place - hole) & mask {
                slots[hole] = slots[place]
                hole = place
            }
            place = (place + 1) & mask
        }
        slots[hole] = 0
    }

    private mutating func makeRoom() {
        guard count + 1 > slots.count / 8 * 7 else { return }
        let old = slots
        slots = Array(repeating: 0, count: max(16, old.count * 2))
        for entry in old where entry != 0 {
            var place = Int(entry.tag) & mask
            while slots[place] != 0 { place = (place + 1) & mask }
            slots[place] = entry
        }
    }

    private static func tag(_ id: AnyHashable) -> UInt32 {
        UInt32(truncatingIfNeeded: id.hashValue)
    }
}

extension UInt64 {
    fileprivate init(tag: UInt32, serial: UInt32) {
        self = UInt64(tag) << 32 | UInt64(serial)
    }

    fileprivate var tag: UInt32 { UInt32(self >> 32) }
    fileprivate var serial: UInt32 { UInt32(truncatingIfNeeded: self) }
}
