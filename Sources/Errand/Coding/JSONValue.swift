public import Foundation

/// Any JSON value, for answers whose shape is not known and for parameters made by hand.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number that fits.
    case int(Int64)
    /// A number that a double holds exactly as it was written.
    case double(Double)
    /// A number that needs more digits than a double has.
    case decimal(Decimal)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; the order of its members is lost.
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

    /// The string, where this is one.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The whole number, where this is one that fits.
    public var int: Int? {
        guard case .int(let value) = self else { return nil }
        return Int(exactly: value)
    }

    /// The Boolean, where this is one.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }
}

extension JSONValue: Decodable {
    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: MemberKey.self) {
            self = .object(try Self.members(of: object))
        } else if var array = try? decoder.unkeyedContainer() {
            self = .array(try Self.elements(of: &array))
        } else {
            self = try Self.scalar(in: decoder.singleValueContainer())
        }
    }

    private static func members(of container: KeyedDecodingContainer<MemberKey>) throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for key in container.allKeys {
            members[key.stringValue] = try container.decode(JSONValue.self, forKey: key)
        }
        return members
    }

    private static func elements(of container: inout any UnkeyedDecodingContainer) throws -> [JSONValue] {
        var elements: [JSONValue] = []
        while !container.isAtEnd {
            elements.append(try container.decode(JSONValue.self))
        }
        return elements
    }

    private static func scalar(in container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(String.self) { return .string(value) }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int64.self) { return .int(value) }
        let value = try container.decode(Double.self)
        guard let exact = try? container.decode(Decimal.self), exact != Decimal(string: "\(value)") else {
            return .double(value)
        }
        return .decimal(exact)
    }
}

extension JSONValue: Encodable {
    /// Writes this value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

/// The name of a member, which is the server's.
private struct MemberKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
