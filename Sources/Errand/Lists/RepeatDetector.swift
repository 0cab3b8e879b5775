import Foundation

/// Detects a server that sends the same page repeatedly, or one page without new items after the other.
struct RepeatDetector {
    /// The number of equal pages in a row, after the first of them, that is not accepted.
    private static let maxRepeats = 3
    /// More pages without new items than a filter of the server explains.
    private static let maxEmptyPages = 100

    /// The number of pages in a row without a new item.
    private(set) var emptyPageRun = 0
    private var repeats = 0
    private var newestBody = Data()

    /// Whether the next page should not be requested.
    var isRepeating: Bool { repeats >= Self.maxRepeats || emptyPageRun >= Self.maxEmptyPages }

    /// Records a page that has been added to the list.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - hasNewItems: Whether the page has added items to the list.
    ///   - hasIDs: Whether the list has an ``ItemID``, which decides what a repeat is.
    mutating func record(_ page: PageInfo, hasNewItems: Bool, hasIDs: Bool) {
        emptyPageRun = hasNewItems ? 0 : emptyPageRun + 1
        let isRepeat = hasIDs ? !hasNewItems : page.response.body == newestBody
        repeats = isRepeat && page.itemCount > 0 ? repeats + 1 : 0
        newestBody = page.response.body
    }

    /// Forgets as many repeats as pages were removed from the end of the list, which are loaded once more.
    mutating func removeLast(_ count: Int) {
        repeats = max(0, repeats - count)
    }

    /// Returns whether the page has the same items as the newest recorded one.
    func hasItemsOfNewestPage(_ page: PageInfo) -> Bool {
        page.response.body.hasSameItems(as: newestBody, count: page.itemCount)
    }
}

extension Data {
    /// Returns whether this body and `other` contain the same items, even if other members differ, such as a timestamp.
    ///
    /// Compares the JSON arrays that have `count` elements.
    func hasSameItems(as other: Data, count: Int) -> Bool {
        guard count > 0, self != other else { return count > 0 }
        var comparison = ArrayComparison(count: count)
        guard let value = try? JSONValue(json: self), let otherValue = try? JSONValue(json: other) else { return false }
        return comparison.areEqual(value, otherValue) && comparison.hasFoundArrays
    }
}

/// Compares the outermost arrays of one length that are at the same places in two values.
private struct ArrayComparison {
    /// The number of elements of the arrays.
    let count: Int
    /// Whether one of the values has such an array.
    private(set) var hasFoundArrays = false

    init(count: Int) { self.count = count }

    /// Returns whether the arrays are equal; `nil` is a value that is missing.
    mutating func areEqual(_ value: JSONValue?, _ other: JSONValue?) -> Bool {
        let (elements, others) = (value?.elements ?? [], other?.elements ?? [])
        guard elements.count != count, others.count != count else {
            hasFoundArrays = true
            return value == other
        }
        for index in 0..<max(elements.count, others.count) {
            let element = index < elements.count ? elements[index] : nil
            guard areEqual(element, index < others.count ? others[index] : nil) else { return false }
        }
        let (members, otherMembers) = (value?.members ?? [:], other?.members ?? [:])
        return members.allSatisfy { areEqual($1, otherMembers[$0]) }
            && otherMembers.allSatisfy { members[$0] != nil || areEqual(nil, $1) }
    }
}

extension JSONValue {
    fileprivate var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    fileprivate var members: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }
}
