/// The printable forms of URLs, paths and queries.
struct URLRedaction {
    private static let itemLimit = 1_000
    /// More than a UUID or a hash of Git has.
    private static let longestSegment = 40

    let redactor: Redactor

    /// Without user, password and fragment, and with the redacted values of its query.
    func url(_ text: String) -> String {
        guard text.utf8.count <= Redactor.urlLimit else { return Redactor.hidden(text.utf8) }
        let text = Self.withoutCombining(text)
        let query = text.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
        guard !query.isEmpty, !text.utf8.contains(where: \.isASCIIControl) else { return Self.path(text) }
        return "\(Self.path(text))?\(self.text(of: String(query)))"
    }

    func text(of items: String) -> String {
        self.items(of: items).map { item in item.value.map { "\(item.name)=\($0)" } ?? item.name }.joined(
            separator: "&"
        )
    }

    /// The value is `nil` for an item without `=`.
    func items(of text: String) -> [(name: String, value: String?)] {
        let text = Self.withoutCombining(text)
        let items = text.split(separator: "&", maxSplits: Self.itemLimit)
        guard items.count <= Self.itemLimit else { return [(Redactor.hidden(text.utf8), nil)] }
        return items.map { item in
            let rawName = item.prefix { $0 != "=" }
            let name = PercentEncoding.decodedFormText(rawName.utf8)
            guard rawName.endIndex < item.endIndex else {
                // An item without a name may be a secret as a whole.
                return (redactor.shownQueryNames.contains(name) ? redactor.name(name) : Redactor.hidden(item.utf8), nil)
            }
            return (redactor.name(name), redactor.value(ofItem: name, String(item[rawName.endIndex...].dropFirst())))
        }
    }

    /// A delimiter with a combining mark is a delimiter for a server, and would not be one here.
    private static func withoutCombining(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }), text.count != text.unicodeScalars.count else { return text }
        return String(decoding: PercentEncoding.encoded(text.utf8) { $0 < 0x80 }, as: UTF8.self)
    }

    /// Returns a URL or a path without user, password, query and fragment.
    ///
    /// What is after a `;` in a segment, or after an encoded `;`, `?` or `#`, is hidden like a query, and so is a long segment that
    /// looks like a token. A text that some parsers read as another URL, because of control characters, or of credentials in an
    /// unusual place, is hidden as a whole, and so is one of more than 8 KB.
    static func path(_ text: String) -> String {
        guard text.utf8.prefix(while: { !$0.endsPath }).count <= Redactor.urlLimit else {
            return Redactor.hidden(text.utf8)
        }
        guard !text.utf8.contains(where: \.isASCIIControl), text.utf8.first != UInt8(ascii: " ") else {
            return Redactor.hidden(text.utf8)
        }
        let text = Substring(withoutCombining(text).utf8.prefix { !$0.endsPath })
        let scheme = Substring(text.utf8.prefix { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) })
        let isScheme = scheme.utf8.first?.isASCIILetter == true
        let hasScheme = isScheme && text[scheme.endIndex...].utf8.first == UInt8(ascii: ":")
        let rest = hasScheme ? text[scheme.endIndex...].dropFirst() : text
        let hasAuthority = rest.utf8.prefix(2).count == 2 && rest.utf8.prefix(2).allSatisfy(\.isSlash)
        guard !hasAuthority else {
            let isFile = hasScheme && scheme.lowercased() == "file"
            return (hasScheme ? "\(scheme):" : "") + hierarchy(rest.dropFirst(2), isFile: isFile)
        }
        if hasScheme { return "\(scheme):\(Redactor.hidden(rest.utf8))" }
        guard !text.utf8.contains(UInt8(ascii: "@")) || !text.utf8.contains(UInt8(ascii: ":")), !hasPassword(text)
        else {
            return Redactor.hidden(text.utf8)
        }
        return segments(text)
    }

    /// The placeholder when the part before the path is not a host.
    private static func hierarchy(_ text: Substring, isFile: Bool) -> String {
        let authority = text.prefix { $0 != "/" && $0 != "\\" }
        let host = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        let name = host.hasPrefix("[") ? host.drop { $0 != "]" }.dropFirst() : host.drop { $0 != ":" }
        let port = name.dropFirst()
        // Browsers ignore further slashes before the authority.
        guard name.isEmpty || name.first == ":", port.allSatisfy({ $0.isASCII && $0.isNumber }), !host.contains("%"),
            !authority.isEmpty || isFile || text.isEmpty
        else {
            return "//" + Redactor.hidden(text.utf8)
        }
        let path = text[authority.endIndex...]
        guard !hasPassword(path) else { return "//\(host)/\(Redactor.hidden(path.utf8.dropFirst()))" }
        return "//\(host)\(segments(path))"
    }

    /// Finds a colon, and after it an `@` that does not begin a segment, encoded any number of times or not.
    private static func hasPassword(_ path: Substring) -> Bool {
        var (hasColon, former, rest) = (false, UInt8(0), path.utf8)
        while let byte = rest.popFirst() {
            let decoded = byte == UInt8(ascii: "%") ? rest.takeDecoded() : byte
            if decoded == UInt8(ascii: "@"), hasColon, former != UInt8(ascii: "/") { return true }
            hasColon = hasColon || decoded == UInt8(ascii: ":")
            former = decoded
        }
        return false
    }

    private static func segments(_ path: Substring) -> String {
        guard path.utf8.count > longestSegment || path.utf8.contains(where: { ";%".utf8.contains($0) }) else {
            return String(path)
        }
        return path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { segment in
            let words = segment.split { !$0.isASCIIAlphanumeric }
            guard segment.count <= longestSegment || words.allSatisfy(NameShape.isPartOfName) else {
                return Redactor.hidden(segment)
            }
            guard let end = endOfShown(segment) else { return String(Substring(segment)) }
            return "\(Substring(segment[..<end]))\(Redactor.hidden(segment[end...]))"
        }.joined(separator: "/")
    }

    /// The end of the first `;` of a segment, or encoded `;`, `?` or `#`.
    private static func endOfShown(_ segment: Substring.UTF8View) -> Substring.Index? {
        var rest = segment
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: ";") { return rest.startIndex }
            guard byte == UInt8(ascii: "%"), let hidden = rest.hexPair, [0x3B, 0x3F, 0x23].contains(hidden)
            else { continue }
            return rest.index(rest.startIndex, offsetBy: 2)
        }
        return nil
    }
}

extension Substring.UTF8View {
    /// Removes what follows a `%`, if that is a triplet, encoded any number of times, and returns its byte, else the `%`.
    fileprivate mutating func takeDecoded() -> UInt8 {
        while let byte = hexPair {
            removeFirst(2)
            guard byte == UInt8(ascii: "%") else { return byte }
        }
        return UInt8(ascii: "%")
    }
}

extension UInt8 {
    fileprivate var endsPath: Bool { self == UInt8(ascii: "?") || self == UInt8(ascii: "#") }

    fileprivate var isSlash: Bool { self == UInt8(ascii: "/") || self == UInt8(ascii: "\\") }
}
