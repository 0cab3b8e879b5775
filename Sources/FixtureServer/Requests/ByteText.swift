import Foundation

/// The bytes of HTTP's grammar (RFC 9110 section 5.6).
extension UInt8 {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let colon: UInt8 = 0x3A

    /// Whether the byte may be part of a token.
    var isToken: Bool { Self.tokens[Int(self)] }

    private static let tokens: [Bool] = (0...255).map { code in
        let byte = UInt8(code)
        let punctuation = "!#$%&'*+-.^_`|~".utf8
        return byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
            || punctuation.contains(byte)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the first position of `byte` at or after `start`.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress, let found = memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// Returns the bytes of `range` as a buffer with indices from 0.
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// Returns whether these bytes are `text`; ASCII letters match in any case.
    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] | 0x20 != text.utf8Start[index] | 0x20 { return false }
        return true
    }

    /// Returns the number that these ASCII digits represent; `nil` for other bytes and for an overflow.
    func number(radix: Int64 = 10) -> Int64? {
        guard !isEmpty, count <= 16 else { return nil }
        var value: Int64 = 0
        for byte in self {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue.map({ Int64($0) }), digit < radix,
                value <= (Int64.max - digit) / radix
            else { return nil }
            value = value * radix + digit
        }
        return value
    }
}
