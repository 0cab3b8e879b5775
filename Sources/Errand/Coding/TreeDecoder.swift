import Foundation

/// Decodes a value of a JSON tree with the settings of a ``LenientDecoder``, and converts what has another type.
final class TreeDecoder: Decoder, SingleValueDecodingContainer {
    /// What the values of one text have in common.
    final class Text {
        let settings: LenientDecoder
        let keyStrategy: JSONDecoder.KeyDecodingStrategy
        let isDamaged: Bool
        let report = DecodingReport.current

        init(settings: LenientDecoder, isDamaged: Bool) {
            (self.settings, keyStrategy, self.isDamaged) = (settings, settings.keyDecodingStrategy, isDamaged)
        }
    }

    let value: JSONValue
    private let text: Text
    private let parent: TreeDecoder?
    private let key: (any CodingKey)?
    /// Whether nothing is converted, because the app compares it with a code.
    fileprivate var isExact = false
    private var type: (any Any.Type)?
    /// Whether an empty array is an object without members, and whether one was read as that.
    private var (readsEmptyAsObject, hasReadEmptyAsObject) = (false, false)

    init(_ value: JSONValue, in text: Text, parent: TreeDecoder? = nil, key: (any CodingKey)? = nil) {
        (self.value, self.text, self.parent, self.key) = (value, text, parent, key)
    }

    var codingPath: [any CodingKey] { sequence(first: self, next: \.parent).compactMap(\.key).reversed() }
    var userInfo: [CodingUserInfoKey: Any] { text.settings.userInfo }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let (renamed, ambiguous) = renamed(try members())
        return KeyedDecodingContainer(KeyedTree(decoder: self, members: renamed, ambiguous: ambiguous))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        UnkeyedTree(decoder: self, elements: try elements())
    }

    func decodeNil() -> Bool { value.isNull }
    func whole() throws -> JSONValue { text.isDamaged ? try value.undamaged(at: codingPath) : value }

    func decode<Scalar: TreeScalar>(_ type: Scalar.Type) throws -> Scalar { try scalar(type) }
    // The default of the protocol precedes a generic function.
    func decode(_ type: Int128.Type) throws -> Int128 { try scalar(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try scalar(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let known = try known(type), let value = known as? Value { return value }
        // A type may decode others from the same decoder.
        let former = (isExact, self.type)
        defer { (isExact, self.type) = former }
        (isExact, self.type) = (type == ServerCode.self, type)
        do {
            return try Value(from: self)
        } catch {
            if value == .string(""), type is any OptionalValue.Type { return try missing(type) }
            // A type that reads arrays as well has had the array.
            guard value == .array([]), parent != nil, !readsEmptyAsObject else { throw error }
            return try decodeEmptyObject(type, or: error)
        }
    }

    /// PHP encodes an object without members as an array; the response itself is one if it is an envelope.
    private func decodeEmptyObject<Value: Decodable>(_ type: Value.Type, or failure: any Error) throws -> Value {
        readsEmptyAsObject = true
        defer { readsEmptyAsObject = false }
        do {
            let object = try Value(from: self)
            text.report?.didConvert(at: codingPath)
            return object
        } catch {
            guard hasReadEmptyAsObject, type is any OptionalValue.Type else { throw failure }
            return try missing(type)
        }
    }

    private func missing<Value: Decodable>(_ type: Value.Type) throws -> Value {
        text.report?.didConvert(at: codingPath)
        return try TreeDecoder(.null, in: text, parent: parent, key: key).decode(type)
    }

    /// Returns `nil` for a type that decodes itself.
    private func known(_ type: any Decodable.Type) throws -> Any? {
        switch type {
        case let type as any TreeScalar.Type: try scalar(type)
        case is Date.Type: try date()
        case is Data.Type: try data()
        case is URL.Type: try parsed(URL(string: scalar(String.self)))
        case let type as any TreeArray.Type where text.settings.skipsBadElements: try type.init(skippingIn: self)
        default: nil
        }
    }
}

// MARK: Scalars

extension TreeDecoder {
    func scalar<Scalar: TreeScalar>(_ type: Scalar.Type) throws -> Scalar {
        if value.isDamaged { _ = try whole() }
        if let scalar = Scalar(tree: value) ?? nonConforming(type) { return scalar }
        guard !isExact, let scalar = Scalar.conversion(of: value).flatMap(Scalar.init) else { throw mismatch(type) }
        text.report?.didConvert(at: codingPath)
        return scalar
    }

    private func nonConforming<Scalar: TreeScalar>(_ type: Scalar.Type) -> Scalar? {
        guard case .string(let name) = value, type is any BinaryFloatingPoint.Type,
            case .convertFromString(let infinity, let negative, let nan) =
                text.settings.nonConformingFloatDecodingStrategy
        else { return nil }
        let numbers = [(infinity, Double.infinity), (negative, -.infinity), (nan, .nan)]
        return numbers.first { $0.0 == name }.flatMap { Scalar(tree: .double($0.1)) }
    }

    private func date() throws -> Date {
        switch text.settings.dateDecodingStrategy {
        case .custom(let read): try read(self)
        case .iso8601:
            try iso8601(scalar(String.self))
        case .secondsSince1970: Date(timeIntervalSince1970: try scalar(Double.self))
        case .millisecondsSince1970: Date(timeIntervalSince1970: try scalar(Double.self) / 1_000)
        // A number, and on Apple's platforms one with a formatter.
        default: try (try? exactDate(of: value)) ?? exactDate(of: .double(scalar(Double.self)))
        }
    }

    private func exactDate(of value: JSONValue) throws -> Date {
        try parsed(try? text.settings.decodeExactly(Date.self, from: value))
    }

    private func iso8601(_ text: String) throws -> Date { try parsed(try? Date.ISO8601FormatStyle().parse(text)) }

    private func data() throws -> Data {
        switch text.settings.dataDecodingStrategy {
        case .custom(let read): try read(self)
        case .base64: try parsed(Data(base64Encoded: scalar(String.self)))
        default: try Data(from: self)
        }
    }

    private func parsed<Value>(_ value: Value?) throws -> Value {
        if let value { return value }
        throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "it is no \(Value.self)"))
    }

    fileprivate func mismatch(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "it is \(value)")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

// MARK: Arrays and objects

extension TreeDecoder {
    func child(_ value: JSONValue, _ key: any CodingKey) -> TreeDecoder {
        TreeDecoder(value, in: text, parent: self, key: key)
    }

    private func members() throws -> [String: JSONValue] {
        if case .object(let members) = value { return members }
        guard readsEmptyAsObject else { throw mismatch([String: Any].self) }
        hasReadEmptyAsObject = true
        return [:]
    }

    private func elements() throws -> [JSONValue] {
        guard case .array(let elements) = value else { throw mismatch([Any].self) }
        return elements
    }

    private var isInElement: Bool { key?.intValue != nil || parent?.isInElement == true }

    fileprivate func goodElements<Element: Decodable>() throws -> [Element] {
        let elements = try elements()
        var skipped = 0
        defer {
            // Most arrays are parts of elements, and their paths need not be made.
            if !isInElement {
                text.report?.didDecode(Element.self, of: elements.count, skipped: skipped, at: codingPath)
            }
        }
        return try elements.enumerated().compactMap { index, value in
            let element = child(value, TreeIndex(index))
            do {
                return try element.decode(Element.self)
            } catch let error where !error.isOfAmbiguousName {
                skipped += 1
                text.report?.didSkip(at: element.codingPath, error)
                return nil
            }
        }
    }

    /// Returns the members with the names of the type, of which `ambiguous` ones have several values.
    private func renamed(_ members: [String: JSONValue]) -> (members: [String: JSONValue], ambiguous: Set<String>) {
        func renamed(_ name: (String) -> String) -> ([String: JSONValue], Set<String>) {
            var (renamed, ambiguous) = ([String: JSONValue](minimumCapacity: members.count), Set<String>())
            for (member, value) in members {
                let name = name(member)
                guard let other = renamed.updateValue(value, forKey: name), other != value else { continue }
                ambiguous.insert(name)
            }
            return (renamed, ambiguous)
        }
        // The keys of a dictionary are the server's.
        var isDictionary: Bool { type is any Keyed.Type }
        switch text.keyStrategy {
        case .convertFromSnakeCase where !isDictionary: return renamed(\.camelCase)
        case .custom(let convert) where !isDictionary:
            let path = codingPath
            return renamed { convert(path + [EnvelopeKey($0)]).stringValue }
        default: return (members, [])
        }
    }
}

// MARK: Types

/// An array, which may be decoded without some of its elements.
private protocol TreeArray {
    init(skippingIn decoder: TreeDecoder) throws
}

extension Array: TreeArray where Element: Decodable {
    init(skippingIn decoder: TreeDecoder) throws { self = try decoder.goodElements() }
}

/// A dictionary whose keys `JSONDecoder` does not convert.
private protocol Keyed {}

extension Dictionary: Keyed where Key == String, Value: Decodable {}

/// Why a member of several names cannot be decoded: which one is meant is not known, and an adapter may have verified the other.
struct AmbiguousName: Error {}

extension DecodingError {
    static func ambiguousName(at path: [any CodingKey]) -> DecodingError {
        let reason = "two members have the same name when it is converted"
        return .dataCorrupted(Context(codingPath: path, debugDescription: reason, underlyingError: AmbiguousName()))
    }
}

extension Error {
    fileprivate var isOfAmbiguousName: Bool {
        guard case .dataCorrupted(let context)? = self as? DecodingError else { return false }
        return context.underlyingError is AmbiguousName
    }
}

extension String {
    /// As `JSONDecoder` converts the name of a member.
    var camelCase: String {
        let words = split(separator: "_")
        guard words.count > 1 else { return self }
        let (head, tail) = (prefix { $0 == "_" }, reversed().prefix { $0 == "_" })
        return head + words[0].lowercased() + words[1...].map(\.capitalized).joined() + String(tail)
    }
}

/// The members of an object of a ``TreeDecoder``.
struct KeyedTree<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: TreeDecoder
    let members: [String: JSONValue]
    /// The names with several values.
    let ambiguous: Set<String>

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap(Key.init) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try child(key).decode(type) }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try child(key).decode(Value?.self)
    }
    // The default of the protocol precedes a generic function.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(type, key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try optional(type, key) }
    func decode<Scalar: TreeScalar>(_ type: Scalar.Type, forKey key: Key) throws -> Scalar { try scalar(type, key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try scalar(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try scalar(type, key) }

    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try child(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(key).unkeyedContainer()
    }
    func superDecoder() -> any Decoder { superDecoder(EnvelopeKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder {
        contains(key) ? try child(key) : superDecoder(key)
    }

    private func superDecoder(_ key: any CodingKey) -> any Decoder {
        decoder.child(members[key.stringValue] ?? .null, key)
    }

    private func value(_ key: Key) throws -> JSONValue {
        guard ambiguous.isEmpty || !ambiguous.contains(key.stringValue) else {
            throw DecodingError.ambiguousName(at: codingPath)
        }
        if let value = members[key.stringValue] { return value }
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "there is no such member"))
    }

    private func child(_ key: Key) throws -> TreeDecoder { decoder.child(try value(key), key) }

    private func optional<Scalar: TreeScalar>(_ type: Scalar.Type, _ key: Key) throws -> Scalar? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        if case .string("") = try value(key), Key.self != EnvelopeKey.self {
            return try child(key).decode(Scalar?.self)
        }
        return try scalar(type, key)
    }

    /// Records code or message, if it is a member of an envelope.
    private func scalar<Scalar: TreeScalar>(_ type: Scalar.Type, _ key: Key) throws -> Scalar {
        let child = try child(key)
        child.isExact = Key.self == EnvelopeKey.self
        return try child.scalar(type)
    }
}

/// The elements of an array of a ``TreeDecoder``.
struct UnkeyedTree: UnkeyedDecodingContainer {
    let decoder: TreeDecoder
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw ended(Any?.self) }
        guard elements[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next(type) { try $0.decode(type) }
    }
    mutating func decode<Scalar: TreeScalar>(_ type: Scalar.Type) throws -> Scalar {
        try next(type) { try $0.scalar(type) }
    }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try next(type) { try $0.scalar(type) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) { try $0.scalar(type) } }

    mutating func nestedContainer<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try next([String: Any].self) { try $0.container(keyedBy: type) }
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next([Any].self) { try $0.unkeyedContainer() }
    }
    mutating func superDecoder() throws -> any Decoder { try next((any Decoder).self) { $0 } }

    /// The element stays the next one if `read` throws.
    private mutating func next<Value>(_ type: any Any.Type, _ read: (TreeDecoder) throws -> Value) throws -> Value {
        guard !isAtEnd else { throw ended(type) }
        let value = try read(decoder.child(elements[currentIndex], TreeIndex(currentIndex)))
        currentIndex += 1
        return value
    }

    private func ended(_ type: any Any.Type) -> DecodingError {
        let path = codingPath + [TreeIndex(currentIndex)]
        return .valueNotFound(type, .init(codingPath: path, debugDescription: "there are no more elements"))
    }
}

/// The key of an element, named as by `JSONDecoder`.
struct TreeIndex: CodingKey {
    let index: Int

    var intValue: Int? { index }
    var stringValue: String { "Index \(index)" }

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }
}

extension JSONValue {
    var isNull: Bool {
        if case .null = self { true } else { false }
    }
}
