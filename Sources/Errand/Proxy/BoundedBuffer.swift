/// Values in their order, at most as many as its capacity; when it is full, the oldest one is dropped for a new one.
///
/// Each operation takes constant time, except that growing copies the values.
struct BoundedBuffer<Element: Sendable>: Sendable {
    private let capacity: Int
    // A ring: the oldest value is at `start`, and its free places are `nil`.
    private var places: [Element?] = []
    private var start = 0
    private(set) var count = 0

    init(capacity: Int) {
        precondition(capacity > 0, "A buffer has a capacity of at least 1")
        self.capacity = capacity
    }

    /// Returns the value that it has replaced, for the caller to release.
    mutating func append(_ element: Element) -> Element? {
        let dropped = count == capacity ? removeFirst() : nil
        if count == places.count { grow() }
        places[(start + count) % places.count] = element
        count += 1
        return dropped
    }

    mutating func removeFirst() -> Element? {
        guard count > 0 else { return nil }
        let first = exchange(&places[start], with: nil)
        start = (start + 1) % places.count
        count -= 1
        return first
    }

    private mutating func grow() {
        let size = min(capacity, max(8, 2 * count))
        let free = [Element?](repeating: nil, count: size - count)
        places = Array(places[start...]) + places[..<start] + free
        start = 0
    }
}
