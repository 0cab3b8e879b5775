/// Percent-encoding of URL parts (RFC 3986 section 2.1).
package enum PercentEncoding {
    private static let digits = StaticString("0123456789ABCDEF")

    package static func triplet(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "%"), digits.utf8Start[Int(byte >> 4)], digits.utf8Start[Int(byte & 15)]]
    }

    package static func encoded(
        _ bytes: some Sequence<UInt8>,
        keeping isKept: (UInt8) -> Bool = \.isUnreserved
    ) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in bytes { if isKept(byte) { encoded.append(byte) } else { encoded += triplet(byte) } }
        return encoded
    }

    /// Encodes every byte except the unreserved ones, `%` and `/` included.
    package static func segment(_ text: String) -> String {
        guard !text.utf8.allSatisfy(\.isUnreserved) else { return text }
        return String(decoding: encoded(text.utf8), as: UTF8.self)
    }

    /// Encodes only those bytes that neither a path nor a query may contain (RFC 3986 sections 3.3 and 3.4).
    ///
    /// Existing triplets are kept; a `%` that does not begin a triplet becomes `%25`.
    static func path(_ text: some Collection<UInt8>) -> String {
        guard !text.allSatisfy(\.isPathByte) else { return String(decoding: text, as: UTF8.self) }
        var encoded: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let isKept = byte == UInt8(ascii: "%") ? rest.hexPair != nil : byte.isPathByte
            encoded += isKept ? [byte] : triplet(byte)
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// A `%` that begins no triplet is kept.
    package static func decoded(_ bytes: some Collection<UInt8>, decodesPlus: Bool = false) -> [UInt8] {
        var (decoded, rest) = ([UInt8](), bytes[...])
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let pair = rest.hexPair {
                decoded.append(pair)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(decodesPlus && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return decoded
    }

    /// Decodes triplets, and `+` as a space (WHATWG URL, section 5.1).
    package static func decodedFormText(_ text: some Collection<UInt8>) -> String {
        String(decoding: decoded(text, decodesPlus: true), as: UTF8.self)
    }
}

extension Collection<UInt8> {
    /// The byte of the two hexadecimal digits at the beginning.
    package var hexPair: UInt8? {
        guard let high = first?.hexDigitValue, let low = dropFirst().first?.hexDigitValue else { return nil }
        return high << 4 | low
    }
}

extension UInt8 {
    /// RFC 3986 section 2.3.
    @inlinable package var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: isASCIIAlphanumeric
        }
    }

    /// One of `!$&'()*+,;=` (RFC 3986 section 2.2).
    package var isSubDelimiter: Bool {
        switch self {
        case UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: ";"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }

    fileprivate var isPathByte: Bool {
        switch self {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"): true
        default: isUnreserved || isSubDelimiter
        }
    }
}
