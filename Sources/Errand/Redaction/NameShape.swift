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
