/// Reads a JSON text (RFC 8259) token by token.
struct JSONScanner {
    /// As for `JSONDecoder` and `JSONSerialization`.
    static let depthLimit = 512

    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes.assumingMemoryBound(to: UInt8.self)
        // A byte order mark.
        if bytes.starts(with: UTF8.byteOrderMark) { position = 3 }
    }

    /// At the end 0, which is not valid in a JSON text.
    var peek: UInt8 { position < bytes.count ? bytes[position] : 0 }
    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    mutating func take(_ literal: StaticString) -> Bool {
        let letters = UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
        guard bytes[position...].starts(with: letters) else { return false }
        position += letters.count
        return true
    }

    mutating func skipBlanks() {
        while position < bytes.count, bytes[position].isJSONBlank { position += 1 }
    }

    /// Returns the range between the quotation marks; does not examine UTF-8 and pairs of surrogates.
    mutating func string() -> (range: Range<Int>, hasEscapes: Bool)? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = position
        var hasEscapes = false
        while position < bytes.count, bytes[position] >= 0x20 {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return (start..<position - 1, hasEscapes) }
            guard byte == UInt8(ascii: "\\") else { continue }
            guard takeEscaped() else { return nil }
            hasEscapes = true
        }
        return nil
    }

    private mutating func takeEscaped() -> Bool {
        guard take(UInt8(ascii: "u")) else {
            guard #""\/bfnrt"#.utf8.contains(peek) else { return false }
            position += 1
            return true
        }
        for _ in 0..<4 {
            guard peek.hexDigitValue != nil else { return false }
            position += 1
        }
        return true
    }

    mutating func number() -> Range<Int>? {
        let start = position
        _ = take(UInt8(ascii: "-"))
        guard take(UInt8(ascii: "0")) || takeDigits() else { return nil }
        if take(UInt8(ascii: ".")) { guard takeDigits() else { return nil } }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "-")) { _ = take(UInt8(ascii: "+")) }
            guard takeDigits() else { return nil }
        }
        return start..<position
    }

    /// Passes over what begins there as a string, with any character; returns whether it ends.
    mutating func skipString(from start: Int) -> Bool {
        position = start
        guard take(UInt8(ascii: "\"")) else { return false }
        while position < bytes.count {
            if take(UInt8(ascii: "\"")) { return true }
            position += peek == UInt8(ascii: "\\") ? 2 : 1
        }
        return false
    }

    /// Passes over all characters of numbers there; returns whether they begin as a number.
    mutating func skipNumber(from start: Int) -> Bool {
        position = start
        guard peek.isASCIIDigit || peek == UInt8(ascii: "-") else { return false }
        while peek.isOfNumber { position += 1 }
        return true
    }

    private mutating func takeDigits() -> Bool {
        let start = position
        while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
        return position > start
    }

    /// With a position and no part of the text.
    func malformed(_ reason: String = "an unexpected character or end") -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "\(reason) at byte \(position)"))
    }
}

extension UInt8 {
    /// Whether it is one of the characters of numbers, in whatever order.
    var isOfNumber: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
        default: isASCIIDigit
        }
    }
}
