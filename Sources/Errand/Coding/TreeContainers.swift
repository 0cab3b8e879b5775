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

    /// Records code or message, if it is a member of an envelope.
    private func scalar<Scalar: TreeScalar>(_ type: Scalar.Type, _ key: Key) throws -> Scalar {
        let child = try child(key)
        return Key.self == EnvelopeKey.self ? try child.exactScalar(type) : try child.scalar(type)
    }
}

/// The elements of an array of a ``TreeDecoder``.
struct UnkeyedTree: UnkeyedDecodingContainer {
    let decoder: TreeDecoder
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    init(decoder: TreeDecoder, elements: [JSONValue]) { (self.decoder, self.elements) = (decoder, elements) }

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
        guard case .null = self else { return false }
        return true
    }
}
