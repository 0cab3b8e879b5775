import Foundation

/// A name and its value, of a query, a form or a cookie line.
package struct FormItem: Sendable, Equatable, Codable {
    /// The decoded name.
    package let name: String
    /// The decoded value.
    package let value: String

    /// Parses `a=1&b=2` as the WHATWG form parser does.
    static func parse(_ text: String) -> [FormItem] {
        text.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return FormItem(name: decode(halves[0]), value: halves.count > 1 ? decode(halves[1]) : "")
        }
    }

    private static func decode(_ text: Substring) -> String {
        PercentCoding.decode(text.utf8.map { $0 == UInt8(ascii: "+") ? .space : $0 })
    }
}

/// Percent-encoding (RFC 3986 section 2.1); malformed triplets are not errors.
enum PercentCoding {
    /// Decodes every complete triplet and keeps all other text.
    static func decode(_ bytes: some Collection<UInt8>) -> String {
        var decoded: [UInt8] = []
        var rest = Array(bytes)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard byte == UInt8(ascii: "%"), digits.count == 2 else {
                decoded.append(byte)
                continue
            }
            decoded.append(UInt8(digits[0] * 16 + digits[1]))
            rest.removeFirst(2)
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
