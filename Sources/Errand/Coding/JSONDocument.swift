import Foundation

/// A text that a `JSONDecoder` decodes, in which each ``JSONValue`` of the decoded type finds its value.
///
/// A `Decoder` does not expose the type of the next value, and `JSONDecoder` throws an error with the coding path for each
/// wrong type, at a cost that is quadratic in the depth. The text is therefore parsed by ``JSONReader`` as well, once, when
/// the first ``JSONValue`` is decoded; each ``JSONValue`` is looked up there by its coding path.
// Unchecked because of the decoder, of which nothing but the identity is used.
final class JSONDocument: @unchecked Sendable {
    @TaskLocal private static var current: JSONDocument?

    private let decoder: any Decoder
    private let text: Data
    private let convertsNames: Bool
    /// Of one attempt: `nil` in it for a text with a fault that `JSONDecoder` finds only where it decodes that part, such as half
    /// a surrogate pair.
    private let root = Lock<JSONValue??>(nil)

    private init(_ text: Data, convertsNames: Bool, decoder: any Decoder) {
        (self.text, self.convertsNames, self.decoder) = (text, convertsNames, decoder)
    }

    /// Calls `read` once with the decoder of the whole text.
    static func decode<Value>(
        _ text: Data,
        with decoder: JSONDecoder,
        read: (any Decoder) throws -> Value
    ) throws -> Value {
        try withoutActuallyEscaping(read) { read in
            let reader = Reader(text: text, convertsNames: decoder.convertsNames, read: read)
            return try decoder.decode(Root<Value>.self, from: text, configuration: reader).value
        }
    }

    /// Returns `nil` if the value is to be decoded by `decoder` itself: it may decode another text during the decoding of this
    /// one, or this one may have a fault elsewhere.
    static func value(for decoder: any Decoder) -> JSONValue? {
        guard let document = current, document.decoder as AnyObject === decoder as AnyObject else { return nil }
        return document.value(at: decoder.codingPath)
    }
}

extension JSONDocument {
    private struct Reader<Value> {
        let text: Data
        let convertsNames: Bool?
        let read: (any Decoder) throws -> Value
    }

    private struct Root<Value>: DecodableWithConfiguration {
        let value: Value

        init(from decoder: any Decoder, configuration reader: Reader<Value>) throws {
            let document = reader.convertsNames.map {
                JSONDocument(reader.text, convertsNames: $0, decoder: decoder)
            }
            value = try $current.withValue(document) { try reader.read(decoder) }
        }
    }

    private func value(at path: [any CodingKey]) -> JSONValue? {
        guard var value = parsed() else { return nil }
        for key in path {
            guard let next = child(of: value, for: key) else { return nil }
            value = next
        }
        return value
    }

    private func parsed() -> JSONValue? {
        if let known = root.withLock(\.self) { return known }
        var value = try? JSONValue(json: text)
        // Which one the decoder takes depends on their order in the text.
        if convertsNames, value?.hasAmbiguousNames == true { value = nil }
        root.withLock { $0 = .some(value) }
        return value
    }

    private func child(of value: JSONValue, for key: any CodingKey) -> JSONValue? {
        guard case .object(let members) = value else { return key.intValue.flatMap { value[$0] } }
        let name = key.stringValue
        if let member = members[name] { return member }
        guard convertsNames else { return nil }
        // Several spellings are converted to one name.
        return name.snakeCase.flatMap { members[$0] } ?? members.first { $0.key.camelCase == name }?.value
    }
}

extension JSONValue {
    /// Whether an object has two names that are converted to one.
    fileprivate var hasAmbiguousNames: Bool {
        switch self {
        case .array(let elements): return elements.contains(where: \.hasAmbiguousNames)
        case .object(let members):
            let isConverted = members.keys.contains { $0.utf8.contains(UInt8(ascii: "_")) }
            guard !isConverted || Set(members.keys.map(\.camelCase)).count == members.count else { return true }
            return members.values.contains(where: \.hasAmbiguousNames)
        default: return false
        }
    }
}

extension JSONDecoder {
    /// `nil` for a custom conversion and for JSON5.
    var convertsNames: Bool? {
        guard !allowsJSON5 else { return nil }
        return switch keyDecodingStrategy {
        case .useDefaultKeys: false
        case .convertFromSnakeCase: true
        default: nil
        }
    }
}

extension String {
    /// `nil` if several names are converted to this one.
    var snakeCase: String? {
        guard let first, first.isLowercase, utf8.allSatisfy(\.isASCIIAlphanumeric) else { return nil }
        return reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
