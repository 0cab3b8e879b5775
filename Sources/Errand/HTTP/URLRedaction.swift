/// The printable forms of URLs, paths and queries.
struct URLRedaction {
    /// The most items of a query or a form that are shown one by one.
    private static let itemLimit = 1_000

    let redactor: Redactor

    /// Returns a URL or a relative reference without user, password and fragment, and with the redacted values of its query.
    func url(_ text: String) -> String {
        let text = Self.withoutCombining(text)
        let query = text.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
        guard !query.isEmpty, !text.utf8.contains(where: \.isASCIIControl) else { return Self.path(text) }
        return "\(Self.path(text))?\(self.text(of: String(query)))"
    }

    /// Returns the items of a query or a form as text.
    func text(of items: String) -> String {
        self.items(of: items).map { item in item.value.map { "\(item.name)=\($0)" } ?? item.name }.joined(
            separator: "&"
        )
    }

    /// Returns the printable names and values of a query or a form; the value is `nil` for an item without `=`.
    func items(of text: String) -> [(name: String, value: String?)] {
        let text = Self.withoutCombining(text)
        let items = text.split(separator: "&", maxSplits: Self.itemLimit)
        guard items.count <= Self.itemLimit else { return [(Redactor.hidden(text.utf8), nil)] }
        return items.map { item in
            let rawName = item.prefix { $0 != "=" }
            let name = PercentEncoding.decodedFormText(rawName)
            guard rawName.endIndex < item.endIndex else {
                // An item without a name may be a secret as a whole.
                return (redactor.queryNames.contains(name) ? redactor.name(name) : Redactor.hidden(item.utf8), nil)
            }
            return (redactor.name(name), redactor.value(ofItem: name, String(item[rawName.endIndex...].dropFirst())))
        }
    }

    /// Returns a text with its bytes beyond ASCII percent-encoded, if it has characters of several scalars: a delimiter with a
    /// combining mark is a delimiter for a server, and would not be one here.
    private static func withoutCombining(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }), text.count != text.unicodeScalars.count else { return text }
        let encoded = text.utf8.reduce(into: [UInt8]()) { encoded, byte in
            if byte < 0x80 { encoded.append(byte) } else { encoded += PercentEncoding.triplet(byte) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns a URL or a path without user, password, query and fragment.
    ///
    /// What is after a `;` in a segment, or after an encoded `;`, `?` or `#`, is hidden like a query. A text that some parsers read as
    /// another URL, because of control characters, or of credentials in an unusual place, is hidden as a whole.
    static func path(_ text: String) -> String {
        if isPlainPath(text) { return text }
        guard !text.utf8.contains(where: \.isASCIIControl), text.utf8.first != UInt8(ascii: " ") else {
            return Redactor.hidden(text.utf8)
        }
        let text = withoutCombining(text).prefix { $0 != "?" && $0 != "#" }
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let hasScheme = scheme.first?.isLetter == true && text[scheme.endIndex...].first == ":"
        let rest = hasScheme ? text[scheme.endIndex...].dropFirst() : text
        let hasAuthority = rest.utf8.prefix(2).count == 2 && rest.utf8.prefix(2).allSatisfy(\.isSlash)
        guard !hasAuthority else { return (hasScheme ? "\(scheme):" : "") + hierarchy(rest.dropFirst(2)) }
        if hasScheme { return "\(scheme):\(Redactor.hidden(rest.utf8))" }
        guard !text.utf8.contains(UInt8(ascii: "@")) || !text.utf8.contains(UInt8(ascii: ":")) else {
            return Redactor.hidden(text.utf8)
        }
        return segments(text)
    }

    /// Returns whether a text is a path in which nothing is hidden: a faster test for most paths.
    private static func isPlainPath(_ text: String) -> Bool {
        let isPlain = text.utf8.withContiguousStorageIfAvailable { bytes in
            var former = UInt8(0)
            for byte in bytes {
                // Two slashes may be before a host.
                let isPlain =
                    byte == UInt8(ascii: "/") ? former != byte : byte.isASCIIAlphanumeric || byte.isPlainPunctuation
                guard isPlain else { return false }
                former = byte
            }
            return true
        }
        return isPlain ?? false
    }

    /// Returns host, port and path, or the placeholder when the part before the path is not a host.
    private static func hierarchy(_ text: Substring) -> String {
        let authority = text.prefix { $0 != "/" && $0 != "\\" }
        let host = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        let name = host.hasPrefix("[") ? host.drop { $0 != "]" }.dropFirst() : host.drop { $0 != ":" }
        let port = name.dropFirst()
        guard name.isEmpty || name.first == ":", port.allSatisfy({ $0.isASCII && $0.isNumber }), !host.contains("%")
        else {
            return "//" + Redactor.hidden(text.utf8)
        }
        return "//\(host)\(segments(text[authority.endIndex...]))"
    }

    private static func segments(_ path: Substring) -> String {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "%") }) else {
            return String(path)
        }
        return path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard let range = segment.firstRange(of: /;|%3[BbFf]|%23/) else { return String(segment) }
            return "\(segment[..<range.upperBound])\(Redactor.hidden(segment[range.upperBound...].utf8))"
        }.joined(separator: "/")
    }
}

extension UInt8 {
    fileprivate var isSlash: Bool { self == UInt8(ascii: "/") || self == UInt8(ascii: "\\") }

    /// Whether a path that contains the byte is printed as it is.
    fileprivate var isPlainPunctuation: Bool {
        switch self {
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ","):
            true
        default: false
        }
    }
}
