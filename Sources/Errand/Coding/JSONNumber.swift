import Foundation

/// A number of a JSON text (RFC 8259 section 6), as its digits and its power of ten.
struct JSONNumber {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let start: Int
    private var position: Int
    private var isNegative = false
    // The digits, up to the precision of `Decimal`.
    private var significand: UInt128 = 0
    private var exponent = 0
    private var isTruncated = false

    /// Parses the number at `position`, and moves `position` to its end; `nil` if there is no number.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, at position: inout Int) {
        (self.bytes, start, self.position) = (bytes, position, position)
        isNegative = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { guard readDigits() > 0 else { return nil } }
        if take(UInt8(ascii: ".")) {
            let count = readDigits()
            guard count > 0 else { return nil }
            exponent -= count
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) { guard readExponent() else { return nil } }
        position = self.position
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func takeDigit() -> UInt8? {
        guard position < bytes.count else { return nil }
        let digit = bytes[position] &- UInt8(ascii: "0")
        guard digit < 10 else { return nil }
        position += 1
        return digit
    }

    /// Adds digits to the significand, and returns their number.
    private mutating func readDigits() -> Int {
        let (first, limit) = (position, UInt128.max / 10)
        while let digit = takeDigit() {
            // Only an omitted digit has changed the exponent so far.
            if exponent == 0, significand < limit || significand == limit && UInt128(digit) <= UInt128.max % 10 {
                significand = significand &* 10 &+ UInt128(digit)
            } else {
                exponent += 1
                isTruncated = isTruncated || digit != 0
            }
        }
        return position - first
    }

    private mutating func readExponent() -> Bool {
        let isNegative = take(UInt8(ascii: "-"))
        if !isNegative { _ = take(UInt8(ascii: "+")) }
        let first = position
        var power = 0
        // Larger than the exponent of any number but 0, and too small for an overflow.
        while let digit = takeDigit() { power = min(power * 10 + Int(digit), 1 << 48) }
        exponent += isNegative ? -power : power
        return position > first
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

    /// The nearest double; `nil` if that is infinite.
    private var double: Double? {
        // With exact operands, a single operation is correctly rounded (Clinger's fast path).
        guard significand <= 1 << 53, !isTruncated, Self.powers.indices.contains(abs(exponent)) else {
            return Double(text).flatMap { $0.isFinite ? $0 : nil }
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
        return shortest.withUTF8 { bytes in
            var position = 0
            return JSONNumber(bytes, at: &position).map { $0.normalized == normalized } ?? false
        }
    }

    /// The digits without trailing zeros.
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
        return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: digits)
    }

    private var truncatedText: String { "\(isNegative ? "-" : "")\(significand)e\(exponent)" }

    private var text: String { String(decoding: bytes[start..<position], as: UTF8.self) }
}
