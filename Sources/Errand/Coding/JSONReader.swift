import Foundation

/// Parses a JSON text to a ``JSONValue`` in one pass, in time that grows with the length of the text alone.
///
/// The open containers are in an array, so that depth needs no stack space. Accepts what `JSONDecoder` accepts: RFC 8259 in
/// UTF-8, with or without a byte order mark, and a comma after the last element.
struct JSONReader {
    /// The maximum depth of arrays and objects, as for `JSONDecoder` and `JSONSerialization`.
    static let depthLimit = 512

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var open: [Container] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Parses a whole text.
    ///
    /// - Throws: `DecodingError.dataCorrupted` with a position and no part of the text.
    static func value(of text: Data) throws -> JSONValue {
        try text.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes.assumingMemoryBound(to: UInt8.self))
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
            skipBlanks()
            guard position == bytes.count else { throw malformed() }
            return value
        }
    }

    /// Parses a scalar or an empty container; returns `nil` after the beginning of a container with elements.
    private mutating func beginning() throws -> JSONValue? {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "["): return try begin(Container(names: nil))
        case UInt8(ascii: "{"): return try begin(Container(names: []))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", value: .bool(true))
        case UInt8(ascii: "f"): return try literal("false", value: .bool(false))
        case UInt8(ascii: "n"): return try literal("null", value: .null)
        default: return try number()
        }
    }

    private mutating func begin(_ container: Container) throws -> JSONValue? {
        guard open.count < Self.depthLimit else { throw malformed("too many nested arrays and objects") }
        position += 1
        skipBlanks()
        if take(container.end) { return container.value }
        open.append(container)
        try name()
        return nil
    }

    /// Parses what follows an element; returns the container if it ends, and `nil` if there is another element.
    private mutating func closed() throws -> JSONValue? {
        let end = open[open.count - 1].end
        skipBlanks()
        if take(UInt8(ascii: ",")) {
            skipBlanks()
            guard peek == end else {
                try name()
                return nil
            }
        }
        guard take(end) else { throw malformed() }
        return open.removeLast().value
    }

    /// Parses the name of the next member and its colon, in an object.
    private mutating func name() throws {
        let last = open.count - 1
        guard open[last].names != nil else { return }
        let name = try string()
        open[last].names?.append(name)
        skipBlanks()
        guard take(UInt8(ascii: ":")) else { throw malformed() }
    }

    private mutating func number() throws -> JSONValue {
        guard let number = JSONNumber(bytes, at: &position) else { throw malformed() }
        guard let value = number.value else { throw malformed("a number is out of range") }
        return value
    }

    private mutating func literal(_ name: StaticString, value: JSONValue) throws -> JSONValue {
        let letters = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        guard bytes[position...].starts(with: letters) else { throw malformed() }
        position += letters.count
        return value
    }
}

extension JSONReader {
    /// An array or an object whose end has not been parsed.
    private struct Container {
        /// The names of an object's members; `nil` in an array.
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
        guard take(UInt8(ascii: "\"")) else { throw malformed() }
        let start = position
        skipPlainCharacters()
        guard peek != UInt8(ascii: "\"") else {
            defer { position += 1 }
            return try validated(UnsafeBufferPointer(rebasing: bytes[start..<position]))
        }
        var text = Array(bytes[start..<position])
        while !take(UInt8(ascii: "\"")) {
            guard take(UInt8(ascii: "\\")) else { throw malformed() }
            try appendEscaped(to: &text)
            let start = position
            skipPlainCharacters()
            text += bytes[start..<position]
        }
        return try text.withUnsafeBufferPointer(validated)
    }

    private func validated(_ text: UnsafeBufferPointer<UInt8>) throws -> String {
        guard let text = String(validating: text, as: UTF8.self) else { throw malformed("a string is not UTF-8") }
        return text
    }

    private mutating func appendEscaped(to text: inout [UInt8]) throws {
        let character = peek
        position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(character)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += UTF8.encode(try scalar()) ?? UTF8.encodedReplacementCharacter
        default: throw malformed()
        }
    }

    /// Parses the digits of `\u`, and of the low surrogate after a high one.
    private mutating func scalar() throws -> Unicode.Scalar {
        let unit = try codeUnit()
        guard UTF16.isLeadSurrogate(unit) else { return try scalar(UInt32(unit)) }
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw malformed("a surrogate is alone") }
        let low = try codeUnit()
        guard UTF16.isTrailSurrogate(low) else { throw malformed("a surrogate is alone") }
        return try scalar(0x10000 + UInt32(unit - 0xD800) << 10 + UInt32(low - 0xDC00))
    }

    private func scalar(_ value: UInt32) throws -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(value) else { throw malformed("a surrogate is alone") }
        return scalar
    }

    private mutating func codeUnit() throws -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = peek.hexDigitValue else { throw malformed() }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}

extension JSONReader {
    /// The next byte; at the end 0, which is not valid in a JSON text.
    private var peek: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func skipPlainCharacters() {
        while position < bytes.count, bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\""),
            bytes[position] != UInt8(ascii: "\\")
        {
            position += 1
        }
    }

    private func malformed(_ reason: String = "an unexpected character or end") -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "\(reason) at byte \(position)"))
    }
}
