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
        guard let items = arrays(of: count), let others = other.arrays(of: count) else { return false }
        return !items.isEmpty && items == others
    }

    private func arrays(of count: Int) -> [String: JSONValue]? {
        (try? JSONDecoder().decode(JSONValue.self, from: self)).map { $0.arrays(of: count) }
    }
}

extension JSONValue {
    /// Returns the outermost arrays of `count` elements by their paths.
    fileprivate func arrays(of count: Int, at path: String = "") -> [String: JSONValue] {
        switch self {
        case .array(let elements) where elements.count == count: [path: self]
        case .array(let elements):
            elements.enumerated().reduce(into: [:]) { all, element in
                all.merge(element.element.arrays(of: count, at: "\(path)/\(element.offset)")) { $1 }
            }
        case .object(let members):
            members.reduce(into: [:]) { all, member in
                all.merge(member.value.arrays(of: count, at: "\(path)/\(member.key)")) { $1 }
            }
        default: [:]
        }
    }
}
