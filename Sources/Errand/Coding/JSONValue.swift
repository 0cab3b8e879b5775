public import Foundation

/// Any JSON value, for responses of unknown shape and for parameters.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// An integer in the range of `Int64`, even if written as `1.0` or `1e2`, but not `-0`.
    case int(Int64)
    /// A number that a double represents exactly as it was written, `-0`, or a number outside the range of `Decimal`.
    case double(Double)
    /// A number with more digits than a double can represent; at least its first 38 digits are kept.
    case decimal(Decimal)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object with its names as received; the order of its members is not kept.
    case object([String: JSONValue])

    /// The member called `key` of an object; `nil` for everything else.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The element at `index` of an array; `nil` for everything else and outside the array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string; `nil` for other values.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The integer; `nil` for other values and outside the range of `Int`.
    public var int: Int? {
        switch self {
        case .int(let value): Int(exactly: value)
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The Boolean; `nil` for other values.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }
}

extension JSONValue {
    /// Parses a JSON text: RFC 8259 in UTF-8, also with a comma after a last element, at most 512 arrays and objects deep.
    ///
    /// The time grows linearly with the length of the text, whatever its contents. If members have the same name, the first one
    /// is used, as with `JSONDecoder`. A number outside the range of `Double` is an error.
    ///
    /// - Throws: `DecodingError.dataCorrupted`, without anything of the text.
    public init(json: Data) throws {
        self = try JSONReader.value(of: json)
    }

    /// Reads also a text with damaged strings or numbers: what is damaged in one member must not hide the others.
    package init(damaged json: Data) throws {
        self = try JSONReader.value(of: json, damage: .repaired)
    }
}

extension JSONValue: Decodable {
    /// Decodes any JSON value.
    ///
    /// Decoding is fast in any part of a response that a service's `JSONDecoder` decodes. With another decoder, a `custom` key
    /// strategy or JSON5, each type of value must be tried in turn, which takes several times as long as ``init(json:)``, and
    /// longer for each level of nesting.
    public init(from decoder: any Decoder) throws {
        if let tree = decoder as? TreeDecoder {
            self = try tree.whole()
            return
        }
        if let value = try JSONDocument.value(for: decoder) {
            self = value
            return
        }
        let container = try decoder.singleValueContainer()
        if let value = Self.scalar(in: container) {
            self = value
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try container.decode([JSONValue].self))
        } else {
            // As a dictionary, whose names no key strategy changes.
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// `nil` for arrays and objects.
    static func scalar(in container: any SingleValueDecodingContainer) -> JSONValue? {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Int64.self), let number = integer(value, in: container) { return number }
        if let value = try? container.decode(String.self) { return .string(value) }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        return (try? container.decode(Double.self)).map { fraction($0, in: container) }
    }

    /// A decoder may also decode a fraction as the nearest integer, which is none.
    private static func integer(_ value: Int64, in container: any SingleValueDecodingContainer) -> JSONValue? {
        if value == 0, let double = try? container.decode(Double.self), double.sign == .minus { return .double(double) }
        guard let exact = try? container.decode(Decimal.self), exact != Decimal(value) else { return .int(value) }
        return nil
    }

    private static func fraction(_ value: Double, in container: any SingleValueDecodingContainer) -> JSONValue {
        // `Decimal` has no infinity.
        guard value.isFinite, let exact = try? container.decode(Decimal.self), exact != Decimal(string: "\(value)")
        else {
            return .double(value)
        }
        return .decimal(exact)
    }
}

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

extension JSONValue: Encodable {
    /// Encodes this value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value):
            if let integer = value.longInteger { try container.encode(integer) } else { try container.encode(value) }
        case .decimal(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue: RedactedDescription {
    /// The type and the size, without names and values, which may be secrets; a `JSONEncoder` returns the whole text.
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
}
