import Foundation

/// A business code of a server: a number, a string or a Boolean.
///
/// A literal is a code: `error.code == 5001`, `envelope.successCodes = ["OK", 0, true]`. A string that is written as an
/// integer, such as `"200"`, is the same code as the number; `"00200"` is not.
public struct ServerCode: Sendable, Hashable {
    /// A number, a string or a Boolean.
    private let value: JSONValue

    /// Creates a code that is a number.
    public init(_ number: Int) { value = .int(Int64(number)) }

    /// Creates a code that is a string, or a number if `text` is written as one.
    public init(_ text: String) {
        let number = Int64(text).flatMap { String($0) == text ? $0 : nil }
        value = number.map(JSONValue.int) ?? .string(text)
    }

    /// Creates a code that is a Boolean.
    public init(_ flag: Bool) { value = .bool(flag) }

    /// The code as text, whichever kind it is.
    public var text: String { value.scalarText ?? "" }
}

extension ServerCode: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    /// Creates a code that is a number.
    public init(integerLiteral value: Int) { self.init(value) }
    /// Creates a code that is a string, or a number if the literal is written as one.
    public init(stringLiteral value: String) { self.init(value) }
    /// Creates a code that is a Boolean.
    public init(booleanLiteral value: Bool) { self.init(value) }
}

extension ServerCode: Decodable {
    /// Decodes a number, a string or a Boolean.
    ///
    /// - Throws: `DecodingError` for any other value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let code = ServerCode(json: JSONValue.scalar(in: container)) {
            self = code
        } else {
            // Throws.
            self.init(try container.decode(Int.self))
        }
    }
}

extension ServerCode: Encodable {
    /// Encodes a number, a string or a Boolean.
    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension ServerCode {
    /// `nil` for `null`, arrays and objects.
    package init?(json: JSONValue?) {
        switch json {
        case .int(let number): self.init(String(number))
        case .double, .decimal: self.init(json.flatMap(String.conversion)?.string ?? "")
        case .string(let text): self.init(text)
        case .bool(let flag): self.init(flag)
        case .null, .array, .object, nil: return nil
        }
    }

    /// That of a member with this name, or at this path, such as `error.code`.
    package init?(in json: JSONValue, at key: String) { self.init(json: json.member(at: key)) }
}

extension ServerCode: RedactedDescription {
    /// The code for logs: `*` for a text that is neither an identifier nor a URL without a query, or longer than 64 characters,
    /// and for one that may be a token, by its digits and capitals.
    public var description: String {
        guard case .string(let text) = value else { return self.text }
        return text.utf8.count <= 64 && NameShape.isCode(text) ? text : "*"
    }
}
