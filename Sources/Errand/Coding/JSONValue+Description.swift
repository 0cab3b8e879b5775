extension JSONValue: CustomStringConvertible, CustomReflectable {
    /// The kind and the size, without names and values, which may be secrets; a `JSONEncoder` gives the whole text.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool: "Boolean"
        case .int, .double, .decimal: "number"
        case .string(let text): "string of \(text.utf8.count) bytes"
        case .array(let elements): "array of \(elements.count) elements"
        case .object(let members): "object of \(members.count) members"
        }
    }

    /// The value as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["json": description]) }
}
