extension APIParams.Member {
    private struct NotScalar: Error {}

    /// Creates a member; `nil` is `null`.
    init(_ value: APIParams.Value) {
        let value = value ?? JSONValue.null
        self = value.asText.map(Self.text) ?? .other(value)
    }

    /// The value with its own type.
    var value: any Encodable & Sendable {
        switch self {
        case .text(let text): text
        case .other(let value): value
        }
    }

    /// The value of a scalar that no encoder strategy changes; `nil` for everything else.
    var scalar: JSONValue? {
        switch self {
        case .text(let text): .string(text)
        case .other(let value): JSONValue(scalar: value)
        }
    }

    /// Whether no encoder strategy changes the value.
    var isScalar: Bool {
        switch self {
        case .text: true
        case .other(let value): JSONValue(scalar: value) != nil
        }
    }

    /// The value of a scalar that no encoder strategy changes.
    var requiredScalar: JSONValue {
        get throws {
            guard let scalar else { throw NotScalar() }
            return scalar
        }
    }
}

extension APIParams.Member: Encodable {
    /// Encodes the value with its dynamic type, so that the encoder's strategies for dates and data apply.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .other(let value): try container.encode(value)
        }
    }
}

extension Encodable {
    /// The value if its type is `String`, without a cast of an existential.
    fileprivate var asText: String? { Self.self == String.self ? self as? String : nil }
}

extension JSONValue {
    fileprivate init?(scalar: any Encodable & Sendable) {
        switch scalar {
        case let value as String: self = .string(value)
        case let value as Int: self = .int(Int64(value))
        case let value as Bool: self = .bool(value)
        case let value as JSONValue where value.isEncoderIndependent: self = value
        default: return nil
        }
    }

    /// Whether every encoder writes the value in the same way.
    private var isEncoderIndependent: Bool {
        switch self {
        case .string, .int, .bool, .null: true
        case .double, .decimal, .array, .object: false
        }
    }
}
