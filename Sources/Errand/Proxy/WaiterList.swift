/// Waiters in the order of their sequence numbers, each of which can be removed.
struct WaiterList<Waiter: Sendable>: Sendable {
    private var entries: [(sequence: UInt64, waiter: Waiter?)] = []
    // The entries before it are empty; the one at it, if there is one, holds a waiter.
    private var head = 0
    private(set) var count = 0

    var first: UInt64? { head < entries.count ? entries[head].sequence : nil }

    /// Replaces the waiter with the same number.
    mutating func insert(_ waiter: Waiter, sequence: UInt64) {
        let index = position(of: sequence)
        guard index < entries.count, entries[index].sequence == sequence else {
            count += 1
            return entries.insert((sequence, waiter), at: index)
        }
        if entries[index].waiter == nil { count += 1 }
        entries[index].waiter = waiter
    }

    mutating func remove(_ sequence: UInt64) -> Waiter? {
        let index = position(of: sequence)
        guard index < entries.count, entries[index].sequence == sequence else { return nil }
        return remove(at: index)
    }

    private mutating func remove(at index: Int) -> Waiter? {
        guard let waiter = entries[index].waiter else { return nil }
        entries[index].waiter = nil
        count -= 1
        while head < entries.count, entries[head].waiter == nil { head += 1 }
        compact()
        return waiter
    }

    /// Drops the empty entries once they are the majority, so that each costs constant time.
    private mutating func compact() {
        guard entries.count > 2 * count + 64 else { return }
        entries.removeAll { $0.waiter == nil }
        head = 0
    }

    private func position(of sequence: UInt64) -> Int {
        // Most come last.
        guard let last = entries.last, head < entries.count, last.sequence >= sequence else { return entries.count }
        return entries[head...].index(behindAll: { $0.sequence < sequence })
    }
}
