public import Foundation

extension ResponseDecoder where Self == JSONDecoder {
    /// A new `JSONDecoder` for servers that send values of unexpected types, with ISO 8601 dates.
    ///
    /// If a value does not have the type of its property, the decoder reads a number from a string, such as `"9.50"`, `"05"`, `"+5"`
    /// or `".5"`, a string from a number, and a Boolean from 1, 0, `"1"`, `"0"`, `"true"` and `"false"`. As PHP servers send them,
    /// an empty array inside the response is also an object without members, or `nil` for an optional one that needs members; and
    /// an empty string is `nil` for an optional value of a type that cannot be read from it, such as a number, a date or an object,
    /// and empty for ``EmptyIfMissing``. Any other mismatch fails as usual. The codes of an ``Envelope`` and a ``JSONValue`` are not
    /// converted, nor is anything in a text that `JSONDecoder` accepts although it is no JSON, for example with a TAB in a string
    /// that nothing decodes. ``APIEvent/Kind/decodedLeniently(converted:skipped:)`` reports the conversions.
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

    /// Returns `nil` for a text that is no JSON, about which the exact decoder says why.
    private func root(of text: Data) throws -> TreeDecoder? {
        let text = text.jsonInUTF8
        if let tree = try? JSONReader.value(of: text, damage: .marked) {
            return TreeDecoder(tree, in: TreeDecoder.Text(settings: self, isDamaged: tree.hasDamage))
        }
        guard allowsJSON5 || assumesTopLevelDictionary else { return nil }
        let tree = try super.decode(JSONValue.self, from: text)
        return TreeDecoder(tree, in: TreeDecoder.Text(settings: self, isDamaged: false))
    }
}

/// Counts what lenient decoders convert and skip in one response.
final class DecodingReport: Sendable {
    private struct State {
        var converted: [String: Int] = [:]
        var skipped: [String] = []
        /// Those without skipped elements as well.
        var arrays: Set<SkippedElements> = []
        var skippedCount = 0
    }

    /// `nil` if nothing observes it.
    @TaskLocal static var current: DecodingReport?

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
    var skippedElements: [SkippedElements] { Array(state.withLock(\.arrays)) }

    /// For an array that is no part of another one's element, after its elements; it may be decoded more than once.
    func didDecode(_ type: any Any.Type, of count: Int, skipped: Int, at path: [any CodingKey]) {
        let (type, names) = (ObjectIdentifier(type), path.map(\.stringValue))
        let array = SkippedElements(type: type, names: names, count: skipped, kept: count - skipped)
        state.withLock { $0.arrays.insert(array) }
    }

    func didSkip(at path: [any CodingKey], _ error: any Error) {
        let isListed = state.withLock { state in
            state.skippedCount += 1
            return state.skippedCount <= Self.mostReasons
        }
        guard isListed else { return }
        let unknown = DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: ""))
        let reason = (error as? DecodingError ?? unknown).place
        state.withLock { $0.skipped.append(reason) }
    }
}

/// How many elements of one array of a response were skipped.
struct SkippedElements: Sendable, Hashable {
    let type: ObjectIdentifier
    /// Those that lead to the array; none for the response itself.
    let names: [String]
    let count: Int
    /// The number of those that were decoded.
    let kept: Int
}

extension [SkippedElements] {
    /// Returns how many were skipped in the array of which a page has `kept` elements.
    ///
    /// A serializer may have made them of elements of another type. In doubt the fewest: an item that is received twice can be
    /// recognized.
    func count(of type: any Any.Type, kept: Int) -> Int {
        let matches = filter { $0.kept == kept }
        let ofType = matches.filter { $0.type == ObjectIdentifier(type) }
        if !ofType.isEmpty {
            return (ofType.first { $0.names.last == "items" } ?? ofType.min { $0.count < $1.count })?.count ?? 0
        }
        let ofOther = matches.filter { $0.count > 0 }
        return ofOther.count == 1 ? ofOther[0].count : 0
    }
}
