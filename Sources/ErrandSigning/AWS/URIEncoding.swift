import Errand

/// The percent-encoding of AWS Signature Version 4: all bytes but the unreserved ones of RFC 3986 section 2.3.
enum URIEncoding {
    private static let digits = StaticString("0123456789ABCDEF")

    /// Appends the encoded form of a byte.
    static func append(_ byte: UInt8, to output: inout [UInt8]) {
        guard !byte.isUnreserved else { return output.append(byte) }
        output.append(UInt8(ascii: "%"))
        output.append(digits.utf8Start[Int(byte >> 4)])
        output.append(digits.utf8Start[Int(byte & 15)])
    }

    /// Returns the encoded form of bytes.
    static func encoded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        for byte in bytes { append(byte, to: &output) }
        return output
    }

    /// Returns the encoded form of bytes that are percent-encoded already, in whatever way.
    static func recoded(_ bytes: ArraySlice<UInt8>, decodesPlus: Bool = false) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + 8)
        decode(bytes, decodesPlus: decodesPlus) { append($0, to: &output) }
        return output
    }

    /// Returns the text of a name or a value of a query.
    static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        var output: [UInt8] = []
        decode(bytes, decodesPlus: true) { output.append($0) }
        return String(decoding: output, as: UTF8.self)
    }

    private static func decode(_ bytes: ArraySlice<UInt8>, decodesPlus: Bool, _ consume: (UInt8) -> Void) {
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let decoded = rest.hexPair {
                consume(decoded)
                rest = rest.dropFirst(2)
            } else {
                consume(byte == UInt8(ascii: "+") && decodesPlus ? UInt8(ascii: " ") : byte)
            }
        }
    }
}

extension Collection<UInt8> {
    /// The byte whose two hexadecimal digits the collection begins with; `nil` if it begins otherwise.
    fileprivate var hexPair: UInt8? {
        guard let high = first?.hexDigitValue, let low = dropFirst().first?.hexDigitValue else { return nil }
        return high << 4 | low
    }
}
