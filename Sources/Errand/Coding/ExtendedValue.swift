import Foundation

/// A header parameter's value with its character set and language: `UTF-8'de'n%C3%A4chstes` (RFC 8187).
struct ExtendedValue {
    /// The character set's name in lower case.
    let charset: String
    /// The language tag; empty without one.
    let language: String
    /// The value, percent-encoded as it came.
    let encoded: String

    init?(_ value: String) {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty else { return nil }
        charset = parts[0].lowercased()
        language = String(parts[1])
        encoded = String(parts[2])
    }

    /// The text; `nil` for another character set than UTF-8, the only one that must be understood.
    var text: String? {
        charset == "utf-8" ? encoded.removingPercentEncoding : nil
    }
}
