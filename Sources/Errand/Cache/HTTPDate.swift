import Foundation

/// The dates of header lines (RFC 9110 section 5.6.7), read more strictly than ``CookieDate``: what is no date means stale.
enum HTTPDate {
    static func parse(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard hasShape(bytes[...], "aaa aaa _0 00:00:00 0000") || hasWeekdayAndShape(bytes) else { return nil }
        return CookieDate.parse(bytes)
    }

    private static func hasWeekdayAndShape(_ bytes: [UInt8]) -> Bool {
        let rest = bytes.drop(while: \.isASCIILetter)
        if rest.startIndex == 3, hasShape(rest, ", 00 aaa 0000 00:00:00 GMT") { return true }
        return rest.startIndex > 3 && hasShape(rest, ", 00-aaa-00 00:00:00 GMT")
    }

    /// In a shape, `a` is a letter, `0` a digit, and `_` a digit or a space.
    private static func hasShape(_ bytes: ArraySlice<UInt8>, _ shape: String) -> Bool {
        guard bytes.count == shape.utf8.count else { return false }
        return zip(bytes, shape.utf8).allSatisfy { byte, kind in
            switch kind {
            case UInt8(ascii: "a"): byte.isASCIILetter
            case UInt8(ascii: "0"): byte.isASCIIDigit
            case UInt8(ascii: "_"): byte.isASCIIDigit || byte == UInt8(ascii: " ")
            default: byte.asciiLowercased == kind.asciiLowercased
            }
        }
    }
}
