import Errand

/// The order in which images are loaded that were asked for at the same time.
public enum ImageOrder: Sendable, Hashable {
    /// What was asked for first is loaded first; the default.
    case firstInFirstOut
    /// What was asked for last is loaded first, for lists that are scrolled fast; asked for again, it keeps its place.
    case lastInFirstOut
}

/// The images that wait for a place, by rank and then by order.
///
/// What leaves or changes its rank is removed when its turn would come, or when such entries are the majority.
struct ImageQueue<Element: AnyObject> {
    private struct Entry {
        let element: Element
        let ticket: Int
    }

    private var lines: [ArraySlice<Entry>] = Array(repeating: [], count: ImageRank.allCases.count)
    /// Of those that wait.
    private var tickets: [ObjectIdentifier: Int] = [:]
    private var staleCount = 0

    /// Also moves one that waits; the lowest ticket is the first one.
    mutating func insert(_ element: Element, rank: ImageRank, ticket: Int) {
        remove(element)
        let line = rank.rawValue
        let position = lines[line].index(behindAll: { $0.ticket < ticket })
        lines[line].insert(Entry(element: element, ticket: ticket), at: position)
        tickets[ObjectIdentifier(element)] = ticket
    }

    var count: Int { tickets.count }

    mutating func remove(_ element: Element) {
        guard tickets.removeValue(forKey: ObjectIdentifier(element)) != nil else { return }
        staleCount += 1
        guard staleCount > tickets.count + 32 else { return }
        lines = lines.map { line in line.filter(isWaiting)[...] }
        staleCount = 0
    }

    mutating func next(_ order: ImageOrder, from lowest: ImageRank) -> Element? {
        for rank in lines.indices.reversed() where rank >= lowest.rawValue {
            while let entry = order == .lastInFirstOut ? lines[rank].popLast() : lines[rank].popFirst() {
                guard isWaiting(entry) else {
                    staleCount -= 1
                    continue
                }
                tickets[ObjectIdentifier(entry.element)] = nil
                return entry.element
            }
        }
        return nil
    }

    private func isWaiting(_ entry: Entry) -> Bool { tickets[ObjectIdentifier(entry.element)] == entry.ticket }
}

/// What a caller of an image has it for: later cases are loaded first, which after the first are those of `RequestPriority`.
enum ImageRank: Int, CaseIterable, Comparable {
    case prefetch, background, normal, userInitiated

    init(_ priority: RequestPriority) { self = ImageRank(rawValue: priority.rawValue + 1) ?? .normal }

    static func < (lhs: ImageRank, rhs: ImageRank) -> Bool { lhs.rawValue < rhs.rawValue }

    /// In the queue of the proxy.
    var priority: RequestPriority { RequestPriority(rawValue: rawValue - 1) ?? .background }
}
