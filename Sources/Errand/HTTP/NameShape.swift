/// Distinguishes names in programs from tokens, addresses and other data by their characters.
enum NameShape {
    /// The longest name of which the capitals are not counted, such as `clientIPv4`.
    private static let shortLength = 12
    /// The most letters without a capital, a digit or punctuation between them.
    private static let longestWord = 20

    /// Returns whether `text` looks like a name; see ``Redactor/name(_:)``.
    static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, first.isASCIILetter || first == UInt8(ascii: "_"), bytes.count <= 40 else {
            return false
        }
        var (digits, lettersAfterDigits, capitals, word) = (0, 0, 0, 0)
        var last: UInt8 = 0
        for byte in bytes {
            guard byte.isASCIIAlphanumeric || isPunctuation(byte) else { return false }
            let isCapital = byte.isASCIILetter && byte < UInt8(ascii: "a")
            if byte.isASCIIDigit { digits += 1 }
            if last.isASCIIDigit && byte.isASCIILetter { lettersAfterDigits += 1 }
            if isCapital { capitals += 1 }
            let continuesWord =
                byte.isASCIILetter && !(isCapital && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(last))
            word = continuesWord ? word + 1 : byte.isASCIILetter ? 1 : 0
            guard digits <= 3, lettersAfterDigits <= 1, word <= longestWord else { return false }
            last = byte
        }
        let letters = bytes.count(where: \.isASCIILetter)
        return bytes.count <= shortLength || capitals == letters || capitals * 3 <= letters
    }

    /// Returns whether `text` looks like the name of a header: each part between its hyphens looks like a name.
    static func isHeaderName(_ text: String) -> Bool {
        // Capitals are counted in each part, because there are names such as X-XSS-Protection.
        guard isName(text.lowercased()) else { return false }
        return text.split(separator: "-").allSatisfy { isName("_\($0)") }
    }

    private static func isPunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"): true
        default: false
        }
    }
}
