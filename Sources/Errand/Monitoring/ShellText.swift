import Foundation

/// Text and bytes as words of a POSIX shell, which executes nothing of them.
enum ShellText {
    /// The bytes contain no NUL.
    static func word(_ bytes: some Collection<UInt8>) -> String {
        guard !isPlain(bytes) else { return quoted(String(decoding: bytes, as: UTF8.self)) }
        // A command substitution removes line feeds from the end.
        let lineFeeds = Array(bytes).reversed().prefix { $0 == UInt8(ascii: "\n") }.count
        let end = lineFeeds == 0 ? "" : quoted(String(repeating: "\n", count: lineFeeds))
        return "\"$(\(printf(bytes.prefix(bytes.count - lineFeeds))))\"\(end)"
    }

    static func word(_ text: String) -> String { word(text.utf8) }

    static func printf(_ bytes: some Collection<UInt8>) -> String {
        var format: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n"): format += "\\n".utf8
            case UInt8(ascii: "%"): format += "%%".utf8
            case UInt8(ascii: "\\"): format += "\\\\".utf8
            case UInt8(ascii: "-") where format.isEmpty, UInt8(ascii: "'"), 0..<0x20, 0x7F...: format += octal(byte)
            default: format.append(byte)
            }
        }
        return "printf '\(String(decoding: format, as: UTF8.self))'"
    }

    /// Printable text in UTF-8, and line feeds.
    static func isPlain(_ bytes: some Collection<UInt8>) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { $0 == "\n" || $0.isShownAsItself }
    }

    private static func quoted(_ text: String) -> String {
        "'\(text.replacingScalar("'", with: #"'\''"#))'"
    }

    private static func octal(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal shows the character and is not controlled by it, nor is the direction of other text.
    var isShownAsItself: Bool {
        if isASCII { return value >= 0x20 && value != 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
