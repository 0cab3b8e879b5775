extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }

    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Creates an integer; the compiler refuses one that `Int64` cannot represent.
    public init(integerLiteral value: Int64) { self = .int(value) }
}

extension JSONValue: ExpressibleByFloatLiteral, ExpressibleByStringInterpolation {
    /// Creates a number: an integer if it has no fraction, as when it is read from JSON.
    public init(floatLiteral value: Double) {
        self = Int64(exactly: value).map(JSONValue.int) ?? .double(value)
    }

    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Creates an object; a repeated name has its last value.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
