import Foundation

/// Finds the bytes of one member in a JSON text, so that they can be changed while all others stay as they are.
struct JSONMember {
    private var scanner: JSONScanner
    private let convertsNames: Bool

    /// Returns the bytes of the member at a path, as ``Envelope`` describes it, in a valid JSON text.
    ///
    /// Of members with the same name the first one is used, as by `JSONDecoder`. An error has a position and no part of the text;
    /// also members with different names are an error if both are converted to the one that is searched for: which one
    /// is decoded depends on their order.
    static func range(of path: String, in text: Data, convertsNames: Bool) throws -> Range<Data.Index>? {
        let range = try text.withUnsafeBytes { bytes in
            var finder = JSONMember(scanner: JSONScanner(bytes), convertsNames: convertsNames)
            return try finder.range(of: path)
        }
        return range.map { text.startIndex + $0.lowerBound..<text.startIndex + $0.upperBound }
    }

    private mutating func range(of path: String) throws -> Range<Int>? {
        let start = scanner.position
        if let whole = try member(path) { return whole }
        var found: Range<Int>?
        guard path.utf8.contains(UInt8(ascii: ".")) else { return nil }
        scanner.position = start
        for name in path.split(separator: ".") {
            guard let next = try member(String(name)) else { return nil }
            found = next
            scanner.position = next.lowerBound
        }
        return found
    }

    private mutating func member(_ name: String) throws -> Range<Int>? {
        scanner.skipBlanks()
        guard scanner.take(UInt8(ascii: "{")) else { return nil }
        let names = convertsNames ? [name, name.camelCase] : [name]
        var match: (name: String?, value: Range<Int>)?
        while true {
            scanner.skipBlanks()
            guard !scanner.take(UInt8(ascii: "}")) else { return match?.value }
            let start = scanner.position
            guard scanner.string() != nil else { throw scanner.malformed() }
            let text = Data(scanner.bytes[start..<scanner.position])
            let found = try JSONReader.value(of: text).string
            let isWanted = found.map { names.contains(convertsNames ? $0.camelCase : $0) } == true
            scanner.skipBlanks()
            guard scanner.take(UInt8(ascii: ":")) else { throw scanner.malformed() }
            scanner.skipBlanks()
            let value = try value()
            if isWanted {
                guard convertsNames else { return value }
                guard match == nil || match?.name == found else { throw DecodingError.ambiguousName(at: []) }
                match = match ?? (found, value)
            }
            scanner.skipBlanks()
            guard scanner.take(UInt8(ascii: ",")) || scanner.peek == UInt8(ascii: "}") else {
                throw scanner.malformed()
            }
        }
    }

    private mutating func value() throws -> Range<Int> {
        let start = scanner.position
        var depth = 0
        repeat {
            switch scanner.peek {
            case UInt8(ascii: "\""): guard scanner.string() != nil else { throw scanner.malformed() }
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                scanner.position += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                scanner.position += 1
            case 0: throw scanner.malformed()
            default: if depth > 0 { scanner.position += 1 } else { skipScalar() }
            }
        } while depth > 0
        guard depth == 0, scanner.position > start else { throw scanner.malformed() }
        return start..<scanner.position
    }

    private mutating func skipScalar() {
        while !scanner.isAtEnd, !",]} \n\r\t".utf8.contains(scanner.peek) { scanner.position += 1 }
    }
}
