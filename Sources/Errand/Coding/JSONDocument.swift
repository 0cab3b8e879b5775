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
    // From the whole text to the value that was found last, because the next one is usually near it; empty before the first
    // one, and `nil` while one is looked up, and if the text is no JSON. The names are the app's code, which no lock is held for.
    private let way = Lock<[Step]?>([])

    private init(_ text: Data, convertsNames: Bool, decoder: any Decoder) {
        (self.text, self.convertsNames, self.decoder) = (text, convertsNames, decoder)
    }

    /// Calls `read` once with the decoder of the whole text.
    static func decode<Value>(
        _ text: Data,
        with decoder: JSONDecoder,
        read: (any Decoder) throws -> Value
    ) throws -> Value {
        let convertsNames = decoder.convertsNames
        return try withoutActuallyEscaping(read) { read in
            let inDocument = { (decoder: any Decoder) in
                let document = convertsNames.map { JSONDocument(text, convertsNames: $0, decoder: decoder) }
                return try $current.withValue(document) { try read(decoder) }
            }
            return try decoder.decode(Root<Value>.self, from: text, configuration: inDocument).value
        }
    }

    /// Returns `nil` if the value is to be decoded by `decoder` itself: it may decode another text during the decoding of this
    /// one.
    ///
    /// - Throws: `DecodingError` for a damaged value, and for one that contains such a value.
    static func value(for decoder: any Decoder) throws -> JSONValue? {
        guard let document = current, document.decoder as AnyObject === decoder as AnyObject else { return nil }
        return try document.value(at: decoder.codingPath)
    }
}

extension JSONDocument {
    private struct Root<Value>: DecodableWithConfiguration {
        let value: Value

        init(from decoder: any Decoder, configuration read: @escaping (any Decoder) throws -> Value) throws {
            value = try read(decoder)
        }
    }

    private func value(at path: [any CodingKey]) throws -> JSONValue? {
        guard var way = way.withLock({ exchange(&$0, with: nil) }) else { return nil }
        if way.isEmpty {
            guard let root = try? JSONReader.value(of: text.jsonInUTF8, damage: .marked) else { return nil }
            way.append(Step(value: root, isOfDamagedText: root.hasDamage))
        }
        defer { self.way.withLock { $0 = way } }
        for (depth, key) in path.enumerated() {
            if way.count > depth + 1 {
                if way[depth].leads(to: way[depth + 1], by: key) { continue }
                way.removeSubrange((depth + 1)...)
            }
            guard let next = way[depth].child(for: key, convertsNames) else { return nil }
            way.append(next)
        }
        let found = way[path.count].value
        return way[0].isOfDamagedText ? try found.undamaged(at: path) : found
    }

    /// A value, and how it is found in the one that contains it.
    private struct Step {
        let value: JSONValue
        /// Of the whole text alone.
        var isOfDamagedText = false
        var index: Int?
        var name = ""
        // Of an object: what its names are converted to; `nil` for what several names are converted to.
        var names: [String: String?]?

        func leads(to next: Step, by key: any CodingKey) -> Bool {
            if case .array = value { return next.index == key.intValue }
            return next.name == key.stringValue
        }

        mutating func child(for key: any CodingKey, _ convertsNames: Bool) -> Step? {
            switch value {
            case .array(let elements):
                guard let index = key.intValue, elements.indices.contains(index) else { return nil }
                return Step(value: elements[index], index: index)
            case .object(let members):
                let name = key.stringValue
                var member = name
                if convertsNames, let original = converted(members)[name] {
                    // Which one the decoder takes depends on their order in the text.
                    guard let original else { return nil }
                    if members[name] == nil { member = original }
                }
                return members[member].map { Step(value: $0, name: name) }
            default: return nil
            }
        }

        private mutating func converted(_ members: [String: JSONValue]) -> [String: String?] {
            if let names { return names }
            var names: [String: String?] = [:]
            if members.keys.contains(where: { $0.utf8.contains(UInt8(ascii: "_")) }) {
                for name in members.keys {
                    let isTaken = names.updateValue(name, forKey: name.camelCase) != nil
                    if isTaken { names.updateValue(nil, forKey: name.camelCase) }
                }
            }
            self.names = names
            return names
        }
    }
}

extension JSONValue {
    /// - Throws: `DecodingError` if the value is damaged, or contains one that is.
    func undamaged(at path: [any CodingKey]) throws -> JSONValue {
        guard hasDamage else { return self }
        let reason = "it has a character that is none, or a number out of range"
        throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: reason))
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
