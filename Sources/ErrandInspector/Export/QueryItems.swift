import Errand
import Foundation

/// The names and values of the query in a printed URL, percent-decoded.
struct QueryItems {
    let items: [PrintedField]

    init(ofURL url: String) {
        let query = url.drop { $0 != "?" }.dropFirst()
        items = query.split(separator: "&").map { item in
            let name = item.prefix { $0 != "=" }
            return PrintedField(name: Self.decode(name), value: Self.decode(item.dropFirst(name.count + 1)))
        }
    }

    private static func decode(_ text: Substring) -> String {
        let text = text.replacing("+", with: " ")
        return text.removingPercentEncoding ?? String(text)
    }
}

extension String {
    /// This text as a URI: what RFC 3986 does not allow in one is percent-encoded, for example in a placeholder.
    var asURI: String {
        let scheme = prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let hasScheme = scheme.first?.isLetter == true && self[scheme.endIndex...].hasPrefix(":")
        var (text, rest) = (hasScheme ? "" : "redacted:", utf8[...])
        var isInAuthority = hasScheme
        // After "scheme://", brackets are those of an IPv6 address up to the next slash.
        let authority = hasScheme ? scheme.utf8.count + 3 : 0
        while let byte = rest.popFirst() {
            let position = utf8.count - rest.count
            if position > authority, byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") { isInAuthority = false }
            let isEscape = byte == UInt8(ascii: "%") && rest.hexPair != nil
            let isBracket = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
            if isEscape || isBracket && isInAuthority || byte.isURICharacter {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += String(decoding: PercentEncoding.triplet(byte), as: UTF8.self)
            }
        }
        return text
    }
}

extension UInt8 {
    /// Whether RFC 3986 allows it outside of an address, `%` excluded.
    fileprivate var isURICharacter: Bool {
        isUnreserved || isSubDelimiter || ":/?@".utf8.contains(self)
    }
}
