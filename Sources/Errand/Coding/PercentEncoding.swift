/// Percent-encoding of URL parts (RFC 3986 section 2.1).
enum PercentEncoding {
    /// `%` and the two digits of `byte`.
    static func triplet(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// `text` as part of one path segment: all but unreserved characters encoded, `%` and `/` too.
    static func segment(_ text: String) -> String {
        guard !text.utf8.allSatisfy(\.isUnreserved) else { return text }
        return encode(text) { byte, _ in byte.isUnreserved }
    }

    /// A path, perhaps with a query, that is written by hand: legal characters and triplets that are there already stay.
    static func path(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0.isUnreserved || $0.isPathPunctuation }) else { return text }
        return encode(text) { byte, rest in
            byte == UInt8(ascii: "%") ? rest.isHexPair : byte.isUnreserved || byte.isPathPunctuation
        }
    }

    private static func encode(_ text: String, keep: (UInt8, Substring.UTF8View) -> Bool) -> String {
        var encoded: [UInt8] = []
        let bytes = text.utf8
        for index in bytes.indices {
            let rest = text[bytes.index(after: index)...].utf8
            encoded += keep(bytes[index], rest) ? [bytes[index]] : triplet(bytes[index])
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

extension Substring.UTF8View {
    fileprivate var isHexPair: Bool {
        let pair = prefix(2)
        return pair.count == 2 && pair.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter or digit.
    var isASCIIAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default:
            false
        }
    }

    /// Whether the byte never needs encoding in a URL (RFC 3986 section 2.3).
    var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: isASCIIAlphanumeric
        }
    }

    /// Whether the byte is one of `/?!$&'()*+,;=:@`.
    fileprivate var isPathPunctuation: Bool {
        switch self {
        case UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "@"):
            true
        default: false
        }
    }
}
