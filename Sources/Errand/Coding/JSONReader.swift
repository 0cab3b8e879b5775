import Foundation

/// Parses a JSON text to a ``JSONValue`` in one pass, in time that grows with the length of the text alone.
///
/// The open containers are in an array, so that depth needs no stack space. Accepts what `JSONDecoder` accepts: RFC 8259 in UTF-8,
/// with or without a byte order mark, and a comma after the last element. `JSONDecoder` also accepts half a surrogate pair, a
/// control character, a malformed number or one out of range in a part that nothing decodes.
struct JSONReader {
    /// What becomes of a string with characters that are none, and of a number out of range.
    enum Damage {
        case refused
        /// The characters are U+FFFD, and the number is `null`.
        case repaired
        /// Either is ``JSONValue/damaged``, and so is each malformed string and number that `JSONDecoder` accepts if nothing decodes
        /// it.
        case marked
    }

    private var scanner: JSONScanner
    private var open: [Container] = []
    private let damage: Damage

    /// An error has a position and no part of the text.
    static func value(of text: Data, damage: Damage = .refused) throws -> JSONValue {
        try text.withUnsafeBytes { bytes in
            var reader = JSONReader(scanner: JSONScanner(bytes), damage: damage)
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
        case UInt8(ascii: "\""): return try string().map(JSONValue.string) ?? .damaged
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
        if name == nil { open[last].hasDamagedName = true }
        open[last].names?.append(name ?? "")
        scanner.skipBlanks()
        guard scanner.take(UInt8(ascii: ":")) else { throw scanner.malformed() }
    }

    private mutating func number() throws -> JSONValue {
        let start = scanner.position
        let found = scanner.number()
        if damage == .marked, found == nil || scanner.peek.isOfNumber, scanner.skipNumber(from: start) {
            return .damaged
        }
        guard let range = found else { throw scanner.malformed() }
        guard let value = JSONNumber(UnsafeBufferPointer(rebasing: scanner.bytes[range])).value else {
            switch damage {
            case .refused: throw scanner.malformed("a number is out of range")
            case .repaired: return .null
            case .marked: return .damaged
            }
        }
        return value
    }
}

extension JSONReader {
    private struct Container {
        /// `nil` in an array.
        var names: [String]?
        var elements: [JSONValue] = []
        var hasDamagedName = false

        var end: UInt8 { names == nil ? UInt8(ascii: "]") : UInt8(ascii: "}") }

        var value: JSONValue {
            guard let names else { return .array(elements) }
            var members: [String: JSONValue] = Dictionary(minimumCapacity: names.count)
            // The first of two equal names is used, as by `JSONDecoder`.
            members.merge(zip(names, elements)) { first, _ in first }
            if hasDamagedName { members[""] = .damaged }
            return .object(members)
        }
    }
}

extension JSONReader {
    /// Returns `nil` for a damaged one that is to be marked.
    private mutating func string() throws -> String? {
        let start = scanner.position
        guard let (range, hasEscapes) = scanner.string() else {
            if damage == .marked, scanner.skipString(from: start) { return nil }
            throw scanner.malformed()
        }
        let text = scanner.bytes[range]
        do {
            guard hasEscapes else { return try validated(UnsafeBufferPointer(rebasing: text)) }
            return try unescaped(text).withUnsafeBufferPointer(validated)
        } catch {
            guard damage == .marked else { throw error }
            return nil
        }
    }

    private func validated(_ text: UnsafeBufferPointer<UInt8>) throws -> String {
        if let text = String(validating: text, as: UTF8.self) { return text }
        guard damage == .repaired else { throw scanner.malformed("a string is not UTF-8") }
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
        guard damage == .repaired else { throw scanner.malformed("a surrogate is alone") }
        return "\u{FFFD}"
    }

    private func codeUnit(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> UInt32 {
        defer { rest.removeFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 4 | UInt32($1.hexDigitValue ?? 0) }
    }
}

extension JSONValue {
    /// What no text has as a value: the mark of a damaged one.
    static let damaged = JSONValue.decimal(.nan)

    var isDamaged: Bool {
        guard case .decimal(let number) = self else { return false }
        return number.isNaN
    }

    /// Whether it is damaged, or a value in it is.
    var hasDamage: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.hasDamage)
        case .object(let members): members.values.contains(where: \.hasDamage)
        default: isDamaged
        }
    }
}

extension Data {
    // `nil` is any byte but 0.
    private static let encodings: [(start: [UInt8?], encoding: String.Encoding, markLength: Int)] = [
        ([0, 0, 0xFE, 0xFF], .utf32BigEndian, 4), ([0xFF, 0xFE, 0, 0], .utf32LittleEndian, 4),
        ([0xFE, 0xFF], .utf16BigEndian, 2), ([0xFF, 0xFE], .utf16LittleEndian, 2),
        ([0, 0, 0, nil], .utf32BigEndian, 0), ([nil, 0, 0, 0], .utf32LittleEndian, 0),
        ([0, nil], .utf16BigEndian, 0), ([nil, 0], .utf16LittleEndian, 0),
    ]

    /// The JSON text in UTF-8: the first bytes show its encoding (RFC 4627 section 3), as to `JSONDecoder`.
    var jsonInUTF8: Data {
        let known = Self.encodings.first { start, _, _ in
            start.count <= count && zip(start, self).allSatisfy { $0 == $1 || $0 == nil && $1 != 0 }
        }
        guard let known else { return self }
        return String(data: dropFirst(known.markLength), encoding: known.encoding).map { Data($0.utf8) } ?? self
    }
}

/// A number of a JSON text (RFC 8259 section 6), as its digits and its power of ten.
struct JSONNumber {
    private let text: UnsafeBufferPointer<UInt8>
    private var isNegative = false
    // Up to the precision of `Decimal`.
    private var significand: UInt128 = 0
    private var exponent = 0
    private var isTruncated = false

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        var (isFraction, hasOmitted) = (false, false)
        let limit = UInt128.max / 10
        for position in 0..<text.count {
            let digit = text[position] &- UInt8(ascii: "0")
            switch text[position] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent += Self.power(text[(position + 1)...])
                return
            case _ where hasOmitted || significand > limit || significand == limit && digit > UInt128.max % 10:
                if !isFraction { exponent += 1 }
                hasOmitted = true
                isTruncated = isTruncated || digit != 0
            default:
                significand = significand &* 10 &+ UInt128(digit)
                if isFraction { exponent -= 1 }
            }
        }
    }

    private static func power(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        // Too small for an overflow; a text whose digits could make up for more is longer than that.
        let power = text.filter(\.isASCIIDigit).reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1 << 27) }
        return text.first == UInt8(ascii: "-") ? -power : power
    }
}

extension JSONNumber {
    /// The value: an integer if it fits, or else a double if it is exact, or else a decimal; `nil` if out of range.
    ///
    /// Digits beyond the precision of `Decimal` do not count, and a number too small for a double is 0, so that the text of the
    /// value has the same value.
    var value: JSONValue? {
        if isNegative, significand == 0 { return .double(-0.0) }
        if let integer { return .int(integer) }
        guard let double else { return nil }
        if let exact = isTruncated ? Double(truncatedText) : double, isExact(exact) { return .double(exact) }
        if let decimal { return .decimal(decimal) }
        return double == 0 ? .int(0) : .double(double)
    }

    private var integer: Int64? {
        guard significand != 0 else { return 0 }
        var (magnitude, power) = exponent == 0 ? (significand, 0) : normalized
        guard (0..<19).contains(power), magnitude <= UInt64.max else { return nil }
        for _ in 0..<power { magnitude *= 10 }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return isNegative ? Int64(-Int128(magnitude)) : Int64(exactly: magnitude)
    }

    /// `nil` if the nearest double is infinite.
    private var double: Double? {
        // With exact operands, a single operation is correctly rounded (Clinger's fast path).
        guard significand <= 1 << 53, !isTruncated, Self.powers.indices.contains(abs(exponent)) else {
            return Double(String(decoding: text, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
        }
        let (digits, power) = (Double(UInt64(significand)), Self.powers[abs(exponent)])
        let magnitude = exponent < 0 ? digits / power : digits * power
        return isNegative ? -magnitude : magnitude
    }

    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Returns whether the shortest text of `double`, the nearest double, is this number.
    private func isExact(_ double: Double) -> Bool {
        // A double represents any 15 digits exactly.
        if significand < 1_000_000_000_000_000, double.isNormal { return true }
        var shortest = "\(double)"
        return shortest.withUTF8 { JSONNumber($0).normalized == normalized }
    }

    private var normalized: (significand: UInt128, exponent: Int) {
        var (digits, power) = (significand, exponent)
        while digits != 0 {
            let (quotient, digit) = digits.quotientAndRemainder(dividingBy: 10)
            guard digit == 0 else { break }
            (digits, power) = (quotient, power + 1)
        }
        return (digits, power)
    }

    private var decimal: Decimal? {
        guard (-128...127).contains(exponent) else { return nil }
        let low = Decimal(UInt64(truncatingIfNeeded: significand))
        let high = Decimal(UInt64(significand >> 64))
        let digits = high == 0 ? low : high * (Decimal(UInt64.max) + 1) + low
        let decimal = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: digits)
        // Zeros at the end of the digits are a part of the exponent of those.
        return decimal.isNaN ? nil : decimal
    }

    private var truncatedText: String { "\(isNegative ? "-" : "")\(significand)e\(exponent)" }
}
