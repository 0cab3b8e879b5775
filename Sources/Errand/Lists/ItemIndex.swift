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
    ///   - hash: The hash of the item's ID.
    ///   - serial: The item's number; never 0.
    ///   - isSame: Whether the item with that number has the same ID.
    /// - Returns: Whether it is new.
    mutating func insert(_ hash: Int, serial: UInt32, isSame: (UInt32) -> Bool) -> Bool {
        makeRoom()
        let tag = UInt32(truncatingIfNeeded: hash)
        var place = Int(tag) & mask
        while slots[place] != 0 {
            if slots[place].tag == tag, isSame(slots[place].serial) { return false }
            place = (place + 1) & mask
        }
        slots[place] = UInt64(tag: tag, serial: serial)
        count += 1
        return true
    }

    /// Takes an item out.
    mutating func remove(_ hash: Int, serial: UInt32) {
        let entry = UInt64(tag: UInt32(truncatingIfNeeded: hash), serial: serial)
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
}

extension UInt64 {
    fileprivate init(tag: UInt32, serial: UInt32) {
        self = UInt64(tag) << 32 | UInt64(serial)
    }

    fileprivate var tag: UInt32 { UInt32(self >> 32) }
    fileprivate var serial: UInt32 { UInt32(truncatingIfNeeded: self) }
}
