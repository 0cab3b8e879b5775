import Foundation

/// A text that a `JSONDecoder` decodes, in which each ``JSONValue`` of the decoded type finds its value.
///
/// A `Decoder` does not expose the type of the next value, and `JSONDecoder` throws an error with the coding path for each
/// wrong type, at a cost that is quadratic in the depth. The text is therefore parsed by ``JSONReader`` as well, once, when
/// the first ``JSONValue`` is decoded; each ``JSONValue`` is looked up there by its coding path.
final class JSONDocument: Sendable {
    // Sendable, because nothing but the identity of the decoder is used on other threads.
    private struct State: @unchecked Sendable {
        var decoder: (any Decoder)?
        /// Of one attempt, also if that has failed.
        var root: Result<JSONValue, any Error>?
    }

    @TaskLocal private static var current: JSONDocument?

    private let text: Data
    private let convertsNames: Bool
    private let state = Lock(State())

    private init(_ text: Data, convertsNames: Bool) {
        self.text = text
        self.convertsNames = convertsNames
    }

    /// Calls `read` once with the decoder of the whole text.
    static func decode<Value>(
        _ text: Data,
        with decoder: JSONDecoder,
        read: (any Decoder) throws -> Value
    ) throws -> Value {
        let document = decoder.convertsNames.map { JSONDocument(text, convertsNames: $0) }
        defer { document?.end() }
        return try withoutActuallyEscaping(read) { read in
            let reader = Reader(document: document, read: read)
            return try decoder.decode(Root<Value>.self, from: text, configuration: reader).value
        }
    }

    /// Returns `nil` if `decoder` decodes another text.
    static func value(for decoder: any Decoder) throws -> JSONValue? {
        guard let document = current, document.isRead(by: decoder) else { return nil }
        return try document.value(at: decoder.codingPath)
    }
}

extension JSONDocument {
    private struct Reader<Value> {
        let document: JSONDocument?
        let read: (any Decoder) throws -> Value
    }

    private struct Root<Value>: DecodableWithConfiguration {
        let value: Value

        init(from decoder: any Decoder, configuration reader: Reader<Value>) throws {
            guard let document = reader.document else {
                value = try reader.read(decoder)
                return
            }
            document.begin(decoder)
            value = try $current.withValue(document) { try reader.read(decoder) }
        }
    }

    private func begin(_ decoder: any Decoder) {
        let current = State(decoder: decoder)
        state.withLock { $0 = current }
    }

    private func end() {
        let last = state.withLock { state in
            defer { state = State() }
            return state
        }
        withExtendedLifetime(last) {}
    }

    /// Another text may be decoded during the decoding of this one.
    private func isRead(by decoder: any Decoder) -> Bool {
        guard let current = state.withLock({ $0 }).decoder else { return false }
        return current as AnyObject === decoder as AnyObject
    }

    private func value(at path: [any CodingKey]) throws -> JSONValue? {
        var value = try root()
        for key in path {
            guard let next = child(of: value, for: key) else { return nil }
            value = next
        }
        return value
    }

    private func root() throws -> JSONValue {
        if let root = state.withLock({ $0.root }) { return try root.get() }
        let root = Result { try JSONValue(json: text) }
        state.withLock { $0.root = root }
        return try root.get()
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
