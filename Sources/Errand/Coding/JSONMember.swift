import Foundation

/// Finds the bytes of one member in a JSON text, so that they can be changed while all others stay as they are.
struct JSONMember {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let convertsNames: Bool
    private var position = 0

    /// Returns the bytes of the member at a path, as ``Envelope`` describes it; `nil` if there is none.
    ///
    /// Of members with the same name the first one is used, as by `JSONDecoder`.
    ///
    /// - Parameters:
    ///   - path: A name, or names with dots between them.
    ///   - text: A valid JSON text in UTF-8.
    ///   - convertsNames: Whether a name in snake case is that of a member in camel case as well.
    /// - Returns: The range of the value.
    /// - Throws: `DecodingError.dataCorrupted`, with a position and no part of the text, where the text is found to be malformed.
    static func range(of path: String, in text: Data, convertsNames: Bool) throws -> Range<Data.Index>? {
        let range = try text.withUnsafeBytes { bytes in
            var finder = JSONMember(bytes: bytes.assumingMemoryBound(to: UInt8.self), convertsNames: convertsNames)
            return try finder.range(of: path)
        }
        return range.map { text.startIndex + $0.lowerBound..<text.startIndex + $0.upperBound }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, convertsNames: Bool) {
        (self.bytes, self.convertsNames) = (bytes, convertsNames)
    }

    private mutating func range(of path: String) throws -> Range<Int>? {
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        if let whole = try member(path, ofObjectAt: start) { return whole }
        var found: Range<Int>?
        guard path.utf8.contains(UInt8(ascii: ".")) else { return nil }
        for name in path.split(separator: ".") {
            guard let next = try member(String(name), ofObjectAt: start) else { return nil }
            (found, start) = (next, next.lowerBound)
        }
        return found
    }

    private mutating func member(_ name: String, ofObjectAt start: Int) throws -> Range<Int>? {
        position = start
        skipBlanks()
        guard take(UInt8(ascii: "{")) else { return nil }
        let names = [name, convertsNames ? name.snakeCase : nil].compactMap { $0.map { Array($0.utf8) } }
        while true {
            skipBlanks()
            guard !take(UInt8(ascii: "}")) else { return nil }
            let isWanted = try matches(string(), names)
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw malformed() }
            skipBlanks()
            let value = try value()
            if isWanted { return value }
            skipBlanks()
            guard take(UInt8(ascii: ",")) || peek == UInt8(ascii: "}") else { throw malformed() }
        }
    }

    /// Returns whether a string with its quotation marks is one of `names`.
    private func matches(_ range: Range<Int>, _ names: [[UInt8]]) throws -> Bool {
        let text = UnsafeBufferPointer(rebasing: bytes[range])
        guard text.contains(UInt8(ascii: "\\")) else {
            return names.contains { text.dropFirst().dropLast().elementsEqual($0) }
        }
        let name = try JSONReader.value(of: Data(text)).string
        return names.contains { name.map { Array($0.utf8) } == $0 }
    }

    private mutating func value() throws -> Range<Int> {
        let start = position
        var depth = 0
        repeat {
            switch peek {
            case UInt8(ascii: "\""): _ = try string()
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                position += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                position += 1
            case 0: throw malformed()
            default: if depth > 0 { position += 1 } else { skipScalar() }
            }
        } while depth > 0
        guard depth == 0, position > start else { throw malformed() }
        return start..<position
    }

    private mutating func string() throws -> Range<Int> {
        let start = position
        guard take(UInt8(ascii: "\"")) else { throw malformed() }
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        throw malformed()
    }

    private mutating func skipScalar() {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), 0x20, 0x0A, 0x0D, 0x09: return
            default: position += 1
            }
        }
    }

    private mutating func skipBlanks() {
        while [0x20, 0x0A, 0x0D, 0x09].contains(peek) { position += 1 }
    }

    /// The next byte; at the end 0, which is not valid in a JSON text.
    private var peek: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private func malformed() -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "an unexpected character or end at byte \(position)"))
    }
}
