/// Percent-encoding of URL parts (RFC 3986 section 2.1).
package enum PercentEncoding {
    package static func triplet(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Encodes every byte except the unreserved ones, `%` and `/` included.
    static func segment(_ text: String) -> String {
        guard !text.utf8.allSatisfy(\.isUnreserved) else { return text }
        return String(decoding: text.utf8.flatMap { $0.isUnreserved ? [$0] : triplet($0) }, as: UTF8.self)
    }

    /// Encodes only those bytes that neither a path nor a query may contain (RFC 3986 sections 3.3 and 3.4).
    ///
    /// Existing triplets are kept; a `%` that does not begin a triplet becomes `%25`.
    static func path(_ text: some Collection<UInt8>) -> String {
        guard !text.allSatisfy(\.isPathByte) else { return String(decoding: text, as: UTF8.self) }
        var encoded: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let isKept = byte == UInt8(ascii: "%") ? rest.startsWithHexPair : byte.isPathByte
            encoded += isKept ? [byte] : triplet(byte)
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes triplets; `nil` if a `%` begins none.
    static func decodedBytes(_ text: Substring) -> [UInt8]? {
        var (bytes, rest) = ([UInt8](), text.utf8[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap(\.hexDigitValue)
            guard digits.count == 2 else { return nil }
            bytes.append(digits[0] << 4 | digits[1])
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// Decodes triplets, and `+` as a space (WHATWG URL, section 5.1).
    package static func decodedFormText(_ text: Substring) -> String {
        var (bytes, rest) = ([UInt8](), text.utf8[...])
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(\.hexDigitValue)
            guard byte == UInt8(ascii: "%"), digits.count == 2 else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            bytes.append(digits[0] << 4 | digits[1])
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Collection where Element == UInt8 {
    package var startsWithHexPair: Bool {
        let pair = prefix(2)
        return pair.count == 2 && pair.allSatisfy { $0.hexDigitValue != nil }
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
