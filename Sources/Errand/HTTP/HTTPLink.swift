/// One link of a `Link` header (RFC 8288 section 3).
struct HTTPLink {
    /// As received, absolute or relative, without surrounding whitespace.
    let reference: HTTPField
    /// By their names in lower case; if a name is repeated, the first value.
    let parameters: [String: String]

    /// The tokens of `rel`, in lower case.
    var relations: [String] {
        (parameters["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
    }

    func hasRelation(_ relation: String) -> Bool {
        relations.contains(relation.lowercased())
    }

    /// Without malformed links.
    static func links(in headers: HTTPHeaders) -> [HTTPLink] {
        headers.fields(named: "Link").flatMap(links)
    }

    /// RFC 8288 appendix B.2, folded or not.
    static func links(in field: HTTPField) -> [HTTPLink] { Array(LinkParser(field)) }
}

private struct LinkParser: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ field: HTTPField) {
        rest = Self.unfolded(field.bytes)[...]
    }

    mutating func next() -> HTTPLink? {
        while true {
            skip { $0.isSpaceOrTab || $0 == UInt8(ascii: ",") }
            guard !rest.isEmpty else { return nil }
            if take("<") {
                guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
                let reference = HTTPField("Link", bytes: rest[..<end].trimmingBlanks)
                rest = rest[(end + 1)...]
                return HTTPLink(reference: reference, parameters: parameters())
            }
            // Commas in the quotes of a malformed value separate no links.
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

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    /// UTF-8 or ISO 8859-1, as in any header.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        HTTPField("Link", bytes: bytes).value
    }

    /// Line folds (RFC 9112 section 5.2) are possible anywhere, even in a URL.
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
