public import Foundation

extension ResponseDecoder where Self == JSONDecoder {
    /// A new `JSONDecoder` for servers that send values of unexpected types, with ISO 8601 dates.
    ///
    /// If a value does not have the type of its property, the decoder reads a number from a string, a string from a number, and a
    /// Boolean from 1, 0, `"1"`, `"0"`, `"true"` and `"false"`; any other mismatch fails as usual. The codes of an ``Envelope``
    /// and a ``JSONValue`` are not converted. ``APIEvent/Kind/decodedLeniently(converted:skipped:)`` reports the conversions.
    ///
    /// ```swift
    /// service.decoder = .lenient
    /// ```
    public static var lenient: JSONDecoder { LenientDecoder(skipsBadElements: false) }

    /// Creates a lenient decoder that may omit array elements that cannot be decoded.
    ///
    /// - Parameter skips: Whether arrays at any depth are decoded without such elements; with `false`, such an element is a
    ///   failure, as with ``lenient``.
    /// - Returns: A decoder with ISO 8601 dates.
    public static func lenient(skippingBadElements skips: Bool) -> JSONDecoder {
        LenientDecoder(skipsBadElements: skips)
    }
}

/// Decodes the tree of a text instead of the text.
// Sendable as its superclass is: its own property never changes.
final class LenientDecoder: JSONDecoder, @unchecked Sendable {
    let skipsBadElements: Bool

    init(skipsBadElements: Bool) {
        self.skipsBadElements = skipsBadElements
        super.init()
        dateDecodingStrategy = .iso8601
    }

    override func decode<Value: Decodable>(_ type: Value.Type, from text: Data) throws -> Value {
        try root(of: text).map { try $0.decode(type) } ?? super.decode(type, from: text)
    }

    override func decode<Value: DecodableWithConfiguration>(
        _ type: Value.Type,
        from text: Data,
        configuration: Value.DecodingConfiguration
    ) throws -> Value {
        guard let root = try root(of: text) else {
            return try super.decode(type, from: text, configuration: configuration)
        }
        return try Value(from: root, configuration: configuration)
    }

    func decodeExactly<Value: Decodable>(_ type: Value.Type, from value: JSONValue) throws -> Value {
        try super.decode(type, from: JSONEncoder().encode(value))
    }

    /// Returns `nil` for a text that is decoded exactly: a damaged string in it may be one that the type does not declare.
    private func root(of text: Data) throws -> TreeDecoder? {
        let isUTF16 = text.starts(with: [0xFE, 0xFF]) || text.starts(with: [0xFF, 0xFE])
        let text = isUTF16 ? String(data: text, encoding: .utf16).map { Data($0.utf8) } ?? text : text
        if let tree = try? JSONValue(json: text) { return TreeDecoder(tree, in: TreeDecoder.Text(settings: self)) }
        guard allowsJSON5 || assumesTopLevelDictionary else { return nil }
        return TreeDecoder(try super.decode(JSONValue.self, from: text), in: TreeDecoder.Text(settings: self))
    }
}

/// Counts what lenient decoders convert and skip in one response.
final class DecodingReport: Sendable {
    private struct State {
        var converted: [String: Int] = [:]
        var skipped: [String] = []
        var arrays: [ObjectIdentifier: SkippingArray] = [:]
        var skippedCount = 0

        mutating func didSkip(_ type: ObjectIdentifier, at index: Int, in names: [String]) {
            // It may be decoded more than once.
            if let array = arrays[type], array.names == names, array.last < index {
                arrays[type] = SkippingArray(names: names, last: index, count: array.count + 1)
            } else {
                arrays[type] = SkippingArray(names: names, last: index, count: 1)
            }
        }
    }

    /// `nil` if nothing observes it.
    @TaskLocal static var current: DecodingReport?

    /// The array of elements of one type in which some were skipped last.
    private struct SkippingArray {
        let names: [String]
        var last: Int
        var count: Int
    }

    private let state = Lock(State())

    /// So that a long array of bad elements does not fill the memory.
    private static let mostReasons = 100

    var event: APIEvent.Kind? {
        let state = state.withLock { $0 }
        guard !state.converted.isEmpty || !state.skipped.isEmpty else { return nil }
        let more = state.skippedCount - state.skipped.count
        let skipped = more > 0 ? state.skipped + ["\(more) more"] : state.skipped
        return .decodedLeniently(converted: state.converted, skipped: skipped)
    }

    func didConvert(at path: [any CodingKey]) {
        // All elements of an array together, so that a long one has no more entries than a short one.
        let place = path.map(DecodingError.name).reduce("") { place, name in
            name.hasPrefix("[") ? place + "[]" : place.isEmpty ? name : place + "." + name
        }
        state.withLock { $0.converted[place.isEmpty ? "the response" : place, default: 0] += 1 }
    }

    /// In arrays that are no part of another one's elements.
    var skippedTypes: [ObjectIdentifier: Int] { state.withLock { $0.arrays.mapValues(\.count) } }

    func didSkip(_ type: any Any.Type, at path: [any CodingKey], _ error: any Error) {
        let isListed = state.withLock { state in
            state.skippedCount += 1
            if let index = path.last?.intValue, path.dropLast().allSatisfy({ $0.intValue == nil }) {
                state.didSkip(ObjectIdentifier(type), at: index, in: path.dropLast().map(\.stringValue))
            }
            return state.skippedCount <= Self.mostReasons
        }
        guard isListed else { return }
        let unknown = DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: ""))
        let reason = (error as? DecodingError ?? unknown).place
        state.withLock { $0.skipped.append(reason) }
    }
}
