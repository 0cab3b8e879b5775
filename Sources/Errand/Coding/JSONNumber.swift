import Foundation

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
        return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: digits)
    }

    private var truncatedText: String { "\(isNegative ? "-" : "")\(significand)e\(exponent)" }
}
