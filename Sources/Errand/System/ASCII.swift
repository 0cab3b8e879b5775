import Foundation

/// Classes of ASCII characters, tested on bytes.
extension UInt8 {
    @inlinable package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    @inlinable package var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    @inlinable package var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

    var isASCIIControl: Bool { self < 0x20 || self == 0x7F }

    /// Header values may contain TAB.
    var isControlExceptTab: Bool { isASCIIControl && self != UInt8(ascii: "\t") }

    /// RFC 8259 section 2.
    var isJSONBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

    var isSpaceOrTab: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// RFC 9110 section 5.6.2.
    var isToken: Bool { isASCIIAlphanumeric || Self.tokenPunctuation.contains(self) }

    private static let tokenPunctuation = Array("!#$%&'*+-.^_`|~".utf8)

    @inlinable package var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    @inlinable package var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

extension StringProtocol {
    var isPrintableASCII: Bool { utf8.allSatisfy { (0x20..<0x7F).contains($0) } }
}

extension Collection<UInt8> {
    /// Compares in memory: each load looks for a dozen names of header lines (`load`).
    func equalsIgnoringCase(_ other: some Collection<UInt8>) -> Bool {
        guard count == other.count else { return false }
        let isEqual = withContiguousStorageIfAvailable { bytes in
            other.withContiguousStorageIfAvailable { bytes.hasSameLetters(as: $0) }
        }
        return isEqual.flatMap(\.self) ?? zip(self, other).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
    func equalsIgnoringCase(_ text: String) -> Bool { equalsIgnoringCase(text.utf8) }
}

extension UnsafeBufferPointer<UInt8> {
    /// Of the same length.
    fileprivate func hasSameLetters(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        for index in indices where self[index] != other[index] {
            guard self[index].asciiLowercased == other[index].asciiLowercased else { return false }
        }
        return true
    }
}

extension BidirectionalCollection<UInt8> {
    var trimmingBlanks: SubSequence {
        let start = firstIndex { !$0.isSpaceOrTab } ?? endIndex
        guard let last = self[start...].lastIndex(where: { !$0.isSpaceOrTab }) else { return self[endIndex...] }
        return self[start...last]
    }
}

extension String {
    /// Also before a combining mark, with which `scalar` is one `Character`.
    func replacingScalar(_ scalar: Unicode.Scalar, with replacement: String) -> String {
        guard unicodeScalars.contains(scalar) else { return self }
        return unicodeScalars.reduce(into: "") { result, next in
            if next == scalar { result += replacement } else { result.unicodeScalars.append(next) }
        }
    }
}

extension ContiguousBytes {
    /// As `withUnsafeBytes`, which does not keep the type of the error.
    func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withUnsafeBytes { bytes in Result { () throws(Failure) in try body(bytes) } }.get()
    }
}

extension UnsafeRawBufferPointer {
    /// Faster than a search byte by byte.
    package func firstIndex(of byte: UInt8, from start: Int = 0, to end: Int? = nil) -> Int? {
        let end = end ?? count
        guard let baseAddress, start < end else { return nil }
        guard let found = memchr(baseAddress + start, Int32(byte), end - start) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    func dropping(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: dropFirst(count)) }
}
