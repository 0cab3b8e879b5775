import Foundation

/// A number of a JSON text (RFC 8259 §6): its digits and its power of ten.
struct JSONNumber {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let start: Int
    private var position: Int
    private var isNegative = false
    // As many of the digits as a Decimal holds.
    private var significand: UInt128 = 0
    private var exponent = 0
    private var isTruncated = false

    /// Reads the number that begins at `position`, which moves to its end; `nil` where there is none.
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

    /// Adds digits to the significand and returns how many there were.
    private mutating func readDigits() -> Int {
        let (first, limit) = (position, UInt128.max / 10)
        while let digit = takeDigit() {
            // Nothing but a digit that was left out has raised the exponent so far.
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
        // Far above the exponent of any number that is not 0, and far below an overflow.
        while let digit = takeDigit() { power = min(power * 10 + Int(digit), 1 << 48) }
        exponent += isNegative ? -power : power
        return position > first
    }
}

extension JSONNumber {
    /// The value: an integer if it is one that fits, else a double if that is exact, else a decimal; `nil` if out of range.
    var value: JSONValue? {
        if let integer { return .int(integer) }
        guard let double else { return nil }
        guard !isExact(double), let decimal else { return .double(double) }
        return .decimal(decimal)
    }

    private var integer: Int64? {
        guard significand != 0 else { return 0 }
        var (magnitude, power) = exponent == 0 ? (significand, 0) : normalized
        guard !isTruncated, (0..<19).contains(power), magnitude <= UInt64.max else { return nil }
        for _ in 0..<power { magnitude *= 10 }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return isNegative ? Int64(-Int128(magnitude)) : Int64(exactly: magnitude)
    }

    /// The nearest double; `nil` if that is infinite.
    private var double: Double? {
        // With both operands exact, the one operation rounds correctly (Clinger's fast path).
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

    /// Whether the shortest text of `double`, the nearest one, names this number.
    private func isExact(_ double: Double) -> Bool {
        // Any 15 digits survive the way through a double.
        if significand < 1_000_000_000_000_000, double.isNormal { return true }
        guard !isTruncated else { return false }
        var shortest = "\(double)"
        return shortest.withUTF8 { bytes in
            var position = 0
            return JSONNumber(bytes, at: &position).map { $0.normalized == normalized } ?? false
        }
    }

    /// The digits without zeros at their end.
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

    private var text: String { String(decoding: bytes[start..<position], as: UTF8.self) }
}
