/// One header line: a name, which ignores case, and a value.
public struct HTTPField: Sendable {
    /// The name as it was written.
    public let name: String
    /// The value as text: UTF-8 where the bytes are that, ISO 8859-1 otherwise.
    public let value: String
    private let isLatin1: Bool

    /// Creates a field from text; it is checked before the request is sent.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
        isLatin1 = false
    }

    /// Creates a field from the bytes of the wire, of which none is lost.
    public init(_ name: String, bytes: some Collection<UInt8>) {
        self.name = name
        if let text = String(validating: bytes, as: UTF8.self) {
            value = text
            isLatin1 = false
        } else {
            value = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            isLatin1 = true
        }
    }

    /// The value's bytes as they stand on the wire.
    public var bytes: [UInt8] {
        isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
    }

    /// Adds the value's bytes as they stand on the wire.
    func appendBytes(to list: inout [UInt8]) {
        guard isLatin1 else { return list.append(contentsOf: value.utf8) }
        list.append(contentsOf: bytes)
    }

    /// Whether this field has `name`, in any case.
    public func isNamed(_ name: String) -> Bool {
        self.name.utf8.count == name.utf8.count
            && zip(self.name.utf8, name.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}

/// Header lines in the order of the wire, duplicates kept.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    private var fields: [HTTPField]

    /// Creates headers from fields, in their order.
    public init(_ fields: [HTTPField] = []) {
        self.fields = fields
    }

    /// Creates headers from a literal, in its order; a name may stand in it more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPField($0, $1) }
    }

    /// The first value of `name`; setting it replaces all of them, `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { $0.isNamed(name) }?.value }
        set {
            let position = fields.firstIndex { $0.isNamed(name) } ?? fields.endIndex
            remove(name)
            guard let newValue else { return }
            fields.insert(HTTPField(name, newValue), at: position)
        }
    }

    /// Every value of `name`, in the order of the wire.
    public func values(_ name: String) -> [String] {
        fields(named: name).map(\.value)
    }

    /// Every field called `name`, in the order of the wire.
    public func fields(named name: String) -> [HTTPField] {
        fields.filter { $0.isNamed(name) }
    }

    /// Adds a line behind those that are there.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(HTTPField(name, value))
    }

    /// Adds a line behind those that are there.
    public mutating func append(_ field: HTTPField) {
        fields.append(field)
    }

    /// Removes every line called `name`.
    public mutating func remove(_ name: String) {
        fields.removeAll { $0.isNamed(name) }
    }

    /// Returns these headers and those of `other`; a name in both keeps only the lines of `other`.
    public func merging(_ other: HTTPHeaders) -> HTTPHeaders {
        HTTPHeaders(fields.filter { other[$0.name] == nil } + other.fields)
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first line.
    public var startIndex: Int { fields.startIndex }
    /// The position behind the last line.
    public var endIndex: Int { fields.endIndex }
    /// The line at `position`.
    public subscript(position: Int) -> HTTPField { fields[position] }
}

extension UInt8 {
    /// The lower case of an ASCII letter; any other byte as it is.
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
