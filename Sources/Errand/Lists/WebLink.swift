/// One link of a `Link` header (RFC 8288 section 3).
public struct WebLink: Sendable {
    /// The target as it was written, absolute or relative, without the blanks around it.
    public var target: String { reference.value }
    /// The target with the bytes of the wire.
    let reference: HTTPField
    /// The parameters by their names in lower case; of a name that stands there twice the first counts.
    public let parameters: [String: String]

    /// What the target is to the answer: the words of `rel`, in lower case.
    public var relations: [String] {
        (parameters["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// The title, that of any language (`title*`, RFC 8187) before the plain one.
    public var title: String? {
        parameters["title*"].flatMap { ExtendedValue($0)?.text } ?? parameters["title"]
    }

    /// Whether the target is that to the answer; relations ignore case.
    public func has(_ relation: String) -> Bool {
        relations.contains(relation.lowercased())
    }
}

extension WebLink {
    /// The links of every `Link` line, in their order; what is malformed is left out.
    public static func links(in headers: HTTPHeaders) -> [WebLink] {
        headers.fields(named: "Link").flatMap(links)
    }

    /// The links of one line (RFC 8288 appendix B.2), folded or not.
    static func links(in field: HTTPField) -> [WebLink] {
        var parser = WebLinkParser(field)
        var links: [WebLink] = []
        while let link = parser.next() { links.append(link) }
        return links
    }
}

extension WebLink: CustomStringConvertible, CustomReflectable {
    /// The target without user, password, fragment and the values of its query, and the relations.
    public var description: String { "<\(Redaction.url(target))>; rel=\(relations)" }

    /// The link as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["link": description]) }
}

/// Reads links from left to right.
private struct WebLinkParser {
    private var rest: ArraySlice<UInt8>

    init(_ field: HTTPField) {
        rest = Self.unfolded(field.bytes)[...]
    }

    /// The next link; what is none is passed over.
    mutating func next() -> WebLink? {
        while true {
            skip { $0.isSpaceOrTab || $0 == UInt8(ascii: ",") }
            guard !rest.isEmpty else { return nil }
            if take("<"), let target = take(until: ">") {
                return WebLink(reference: HTTPField("Link", bytes: target), parameters: parameters())
            }
            // In a value that is none, its quotes still hide commas.
            _ = parameters()
        }
    }

    private mutating func parameters() -> [String: String] {
        var parameters: [String: String] = [:]
        while let byte = rest.first, byte != UInt8(ascii: ",") {
            skip { $0.isSpaceOrTab || $0 == UInt8(ascii: ";") }
            let name = token { $0 == UInt8(ascii: "=") }.lowercased()
            skip(\.isSpaceOrTab)
            let value = take("=") ? value() : ""
            if !name.isEmpty, parameters[name] == nil { parameters[name] = value }
        }
        return parameters
    }

    private mutating func value() -> String {
        skip(\.isSpaceOrTab)
        return take("\"") ? quoted() : token { _ in false }
    }

    private mutating func quoted() -> String {
        var text: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            if let escaped = rest.popFirst() { text.append(escaped) }
        }
        return Self.text(text)
    }

    private mutating func token(endsAt isEnd: (UInt8) -> Bool) -> String {
        let token = rest.prefix { !$0.isSpaceOrTab && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") && !isEnd($0) }
        rest = rest.dropFirst(token.count)
        return Self.text(token)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func take(until character: Unicode.Scalar) -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: UInt8(ascii: character)) else {
            rest = []
            return nil
        }
        defer { rest = rest[(end + 1)...] }
        return rest[..<end].trimmingBlanks
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    /// Part of the value as text; the bytes are UTF-8 or ISO 8859-1, as in any header.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        HTTPField("Link", bytes: bytes).value
    }

    /// Without line folds (RFC 9112 section 5.2), which may stand anywhere, even in a URL.
    private static func unfolded(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: \.isLineBreak) else { return bytes }
        var isFold = false
        return bytes.filter { byte in
            isFold = byte.isLineBreak || isFold && byte.isSpaceOrTab
            return !isFold
        }
    }
}

extension UInt8 {
    fileprivate var isLineBreak: Bool { self == UInt8(ascii: "\r") || self == UInt8(ascii: "\n") }
}
