/// HTML that is written piece by piece; every value is escaped.
struct HTMLText {
    private(set) var bytes: [UInt8] = []

    /// Appends markup of this library, never a recorded value.
    mutating func markup(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Appends a value between tags or in a quoted attribute.
    ///
    /// Characters that HTML does not allow, that a terminal would execute, or that change the direction of a line are shown by
    /// their visible symbols or numbers.
    mutating func value(_ text: String) {
        for scalar in text.unicodeScalars { append(scalar) }
    }

    /// Appends an element with a value.
    ///
    /// - Parameters:
    ///   - open: The opening tag.
    ///   - text: The value.
    ///   - close: The closing tag.
    mutating func element(_ open: StaticString, _ text: String, _ close: StaticString) {
        markup(open)
        value(text)
        markup(close)
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "&": markup("&amp;")
        case "<": markup("&lt;")
        case ">": markup("&gt;")
        case "\"": markup("&quot;")
        case "'": markup("&#39;")
        case "\n", "\t": bytes.append(UInt8(scalar.value))
        case "\r": markup("␍")
        // The symbols for control characters, U+2400 to U+241F and U+2421.
        case "\u{00}"..."\u{1F}": bytes += UTF8.encode(Unicode.Scalar(UInt16(0x2400 + scalar.value)) ?? " ") ?? .init()
        case "\u{7F}": markup("␡")
        case "\u{80}"..."\u{9F}", "\u{61C}", "\u{200E}"..."\u{200F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}",
            "\u{FEFF}", "\u{FFF9}"..."\u{FFFB}":
            bytes += "⟨U+\(String(scalar.value, radix: 16, uppercase: true))⟩".utf8
        default: bytes += UTF8.encode(scalar) ?? .init()
        }
    }
}
