/// Distinguishes the values that known headers and attributes usually have from tokens, addresses and other data.
enum ValueShape {
    private static let longestValue = 256
    /// A short word may be anything, such as `7F83` or `x86_64`.
    private static let shortWord = 6
    /// The digits of a number and of its parts together: dates, versions, ranges, and seconds since 1970.
    private static let longestNumber = 14
    private static let longestRun = 10
    private static let separators = Array(" ,;=/()+*:\"?<>[]{}'.\t".utf8)

    /// A secret that is a word, or several words, cannot be distinguished from a name.
    static func isHarmless(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count <= longestValue else { return false }
        return text.utf8.split { separators.contains($0) }.allSatisfy { isHarmless(word: Array($0)) }
    }

    private static func isHarmless(word: [UInt8]) -> Bool {
        guard word.allSatisfy({ $0.isASCIIAlphanumeric || $0.isJoiner }) else { return false }
        if word.count <= shortWord { return true }
        let runs = word.split { $0.isJoiner }
        if word.allSatisfy({ $0.isASCIIDigit || $0.isJoiner }) {
            return word.count <= longestNumber && runs.allSatisfy { $0.count <= longestRun }
        }
        // A date, such as 21-Oct-2026.
        if word.count <= 2 * shortWord, runs.allSatisfy({ $0.count <= 4 }) { return true }
        let name = String(decoding: word, as: UTF8.self)
        return NameShape.isName(word[0].isASCIILetter ? name : "_\(name)")
    }
}

extension ValueShape {
    /// In lower case, apart from those with a number, which are ``isCharset(_:)``'s.
    private static let charsets: Set = [
        "ascii", "big5", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "iso-2022-jp", "koi8-r", "koi8-u", "latin1",
        "macintosh", "shift_jis", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8", "utf8",
    ]

    static func isCharset(_ name: String) -> Bool {
        let name = name.lowercased()
        if charsets.contains(name) { return true }
        return ["iso-8859-", "windows-125"].contains {
            name.hasPrefix($0) && UInt8(name.dropFirst($0.count)) ?? 16 < 16
        }
    }
}

extension UInt8 {
    fileprivate var isJoiner: Bool { self == UInt8(ascii: "-") || self == UInt8(ascii: "_") }
}

/// Distinguishes names in programs from tokens, addresses and other data by their characters.
enum NameShape {
    private static let punctuation = Array("_-.[]".utf8)

    /// See ``Redactor/name(_:)``.
    static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, first.isASCIILetter || first == UInt8(ascii: "_"), bytes.count <= 40,
            bytes.count(where: \.isASCIIDigit) <= 3
        else { return false }
        return bytes.split { punctuation.contains($0) }.allSatisfy(isWord)
    }

    /// A random token has more capitals than a name.
    private static func isWord(_ word: Substring.UTF8View) -> Bool {
        guard word.allSatisfy(\.isASCIIAlphanumeric), word.count <= 20 else { return false }
        let capitals = word.count { $0.isASCIILetter && $0 < UInt8(ascii: "a") }
        return word.count <= 6 || capitals * 3 <= word.count || capitals == word.count
    }
}
