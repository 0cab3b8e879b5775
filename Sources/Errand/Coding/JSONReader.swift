import Foundation

/// Parses a JSON text to a ``JSONValue`` in one pass, in time that grows with the length of the text alone.
///
/// The open containers are in an array, so that depth needs no stack space. Accepts what `JSONDecoder` accepts: RFC 8259 in
/// UTF-8, with or without a byte order mark, and a comma after the last element. `JSONDecoder` also accepts a text with half a
/// surrogate pair or a number out of range in a part that nothing decodes.
struct JSONReader {
    private var scanner: JSONScanner
    private var open: [Container] = []
    private let repairsValues: Bool

    private init(_ scanner: JSONScanner, repairsValues: Bool) {
        (self.scanner, self.repairsValues) = (scanner, repairsValues)
    }

    /// An error has a position and no part of the text.
    ///
    /// With `repairsValues`, characters that are none are U+FFFD, and a number out of range is `null`.
    static func value(of text: Data, repairsValues: Bool = false) throws -> JSONValue {
        try text.withUnsafeBytes { bytes in
            var reader = JSONReader(JSONScanner(bytes), repairsValues: repairsValues)
            return try reader.text()
        }
    }

    private mutating func text() throws -> JSONValue {
        while true {
            guard var value = try beginning() else { continue }
            while !open.isEmpty {
                open[open.count - 1].elements.append(value)
                guard let container = try closed() else { break }
                value = container
            }
            guard open.isEmpty else { continue }
            scanner.skipBlanks()
            guard scanner.isAtEnd else { throw scanner.malformed() }
            return value
        }
    }

    /// Returns `nil` after the beginning of a container with elements.
    private mutating func beginning() throws -> JSONValue? {
        scanner.skipBlanks()
        switch scanner.peek {
        case UInt8(ascii: "["): return try begin(Container(names: nil))
        case UInt8(ascii: "{"): return try begin(Container(names: []))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): if scanner.take("true") { return .bool(true) }
        case UInt8(ascii: "f"): if scanner.take("false") { return .bool(false) }
        case UInt8(ascii: "n"): if scanner.take("null") { return .null }
        default: return try number()
        }
        throw scanner.malformed()
    }

    private mutating func begin(_ container: Container) throws -> JSONValue? {
        guard open.count < JSONScanner.depthLimit else {
            throw scanner.malformed("too many nested arrays and objects")
        }
        scanner.position += 1
        scanner.skipBlanks()
        if scanner.take(container.end) { return container.value }
        open.append(container)
        try name()
        return nil
    }

    /// Returns the container if it ends, and `nil` if there is another element.
    private mutating func closed() throws -> JSONValue? {
        let end = open[open.count - 1].end
        scanner.skipBlanks()
        if scanner.take(UInt8(ascii: ",")) {
            scanner.skipBlanks()
            guard scanner.peek == end else {
                try name()
                return nil
            }
        }
        guard scanner.take(end) else { throw scanner.malformed() }
        return open.removeLast().value
    }

    private mutating func name() throws {
        let last = open.count - 1
        guard open[last].names != nil else { return }
        let name = try string()
        open[last].names?.append(name)
        scanner.skipBlanks()
        guard scanner.take(UInt8(ascii: ":")) else { throw scanner.malformed() }
    }

    private mutating func number() throws -> JSONValue {
        guard let range = scanner.number() else { throw scanner.malformed() }
        guard let value = JSONNumber(UnsafeBufferPointer(rebasing: scanner.bytes[range])).value else {
            guard repairsValues else { throw scanner.malformed("a number is out of range") }
            return .null
        }
        return value
    }
}

extension JSONReader {
    private struct Container {
        /// `nil` in an array.
        var names: [String]?
        var elements: [JSONValue] = []

        init(names: [String]?) { self.names = names }

        var end: UInt8 { names == nil ? UInt8(ascii: "]") : UInt8(ascii: "}") }

        var value: JSONValue {
            guard let names else { return .array(elements) }
            var members: [String: JSONValue] = Dictionary(minimumCapacity: names.count)
            // The first of two equal names is used, as by `JSONDecoder`.
            members.merge(zip(names, elements)) { first, _ in first }
            return .object(members)
        }
    }
}

extension JSONReader {
    private mutating func string() throws -> String {
        guard let (range, hasEscapes) = scanner.string() else { throw scanner.malformed() }
        let text = scanner.bytes[range]
        guard hasEscapes else { return try validated(UnsafeBufferPointer(rebasing: text)) }
        return try unescaped(text).withUnsafeBufferPointer(validated)
    }

    private func validated(_ text: UnsafeBufferPointer<UInt8>) throws -> String {
        if let text = String(validating: text, as: UTF8.self) { return text }
        guard repairsValues else { throw scanner.malformed("a string is not UTF-8") }
        return String(decoding: text, as: UTF8.self)
    }

    private func unescaped(_ text: Slice<UnsafeBufferPointer<UInt8>>) throws -> [UInt8] {
        var (rest, result) = (text, [UInt8]())
        while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
            result += rest[..<backslash]
            rest = rest[(backslash + 1)...]
            switch rest.removeFirst() {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"): result += UTF8.encode(try scalar(&rest)) ?? UTF8.encodedReplacementCharacter
            case let character: result.append(character)
            }
        }
        return result + rest
    }

    /// Parses the digits of `\u`, and of the low surrogate after a high one.
    private func scalar(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) throws -> Unicode.Scalar {
        var value = codeUnit(&rest)
        var following = rest
        if UTF16.isLeadSurrogate(UInt16(value)), rest.starts(with: #"\u"#.utf8) {
            following.removeFirst(2)
            let low = codeUnit(&following)
            if UTF16.isTrailSurrogate(UInt16(low)) {
                value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
                rest = following
            }
        }
        if let scalar = Unicode.Scalar(value) { return scalar }
        guard repairsValues else { throw scanner.malformed("a surrogate is alone") }
        return "\u{FFFD}"
    }

    private func codeUnit(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> UInt32 {
        defer { rest.removeFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 4 | UInt32($1.hexDigitValue ?? 0) }
    }
}
