import Foundation

extension Data {
    /// Whether this body and `other` hold the same items, whatever else differs in them, such as the time of the answer.
    ///
    /// Compares the arrays of JSON that have `count` elements.
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
    /// The outermost arrays with so many elements, by their places.
    fileprivate func arrays(of count: Int, at place: String = "") -> [String: JSONValue] {
        switch self {
        case .array(let elements) where elements.count == count: [place: self]
        case .array(let elements):
            elements.enumerated().reduce(into: [:]) { all, element in
                all.merge(element.element.arrays(of: count, at: "\(place)/\(element.offset)")) { $1 }
            }
        case .object(let members):
            members.reduce(into: [:]) { all, member in
                all.merge(member.value.arrays(of: count, at: "\(place)/\(member.key)")) { $1 }
            }
        default: [:]
        }
    }
}
