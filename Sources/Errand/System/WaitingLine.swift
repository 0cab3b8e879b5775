/// Waiters in the order of their tickets, of whom any can leave.
struct WaitingLine<Waiter: Sendable>: Sendable {
    private var entries: [(ticket: UInt64, waiter: Waiter?)] = []
    // Those before it have gone; the entry at it, if there is one, waits.
    private var head = 0
    /// How many wait.
    private(set) var waiting = 0

    /// The ticket of the first who waits.
    var first: UInt64? { head < entries.count ? entries[head].ticket : nil }

    /// Lets somebody in; who has drawn a ticket earlier than those at the end stands before them.
    mutating func insert(_ ticket: UInt64, _ waiter: Waiter) {
        var index = entries.count
        while index > head, entries[index - 1].ticket > ticket { index -= 1 }
        entries.insert((ticket, waiter), at: index)
        waiting += 1
    }

    mutating func removeFirst() -> Waiter? {
        head < entries.count ? remove(at: head) : nil
    }

    mutating func remove(_ ticket: UInt64) -> Waiter? {
        index(of: ticket).flatMap { remove(at: $0) }
    }

    private mutating func remove(at index: Int) -> Waiter? {
        guard let waiter = entries[index].waiter else { return nil }
        entries[index].waiter = nil
        waiting -= 1
        while head < entries.count, entries[head].waiter == nil { head += 1 }
        sweep()
        return waiter
    }

    /// Lets go of the entries of those who have left once they are the most: each of them was paid for by its arrival.
    private mutating func sweep() {
        guard entries.count > 2 * waiting + 64 else { return }
        entries.removeAll { $0.waiter == nil }
        head = 0
    }

    private func index(of ticket: UInt64) -> Int? {
        var (low, high) = (head, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].ticket == ticket ? low : nil
    }
}
