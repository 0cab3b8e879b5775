import Foundation

struct HeaderRedaction {
    let redactor: Redactor

    /// `name` is in lower case.
    func value(ofHeader name: String, _ value: String) -> String {
        switch name {
        case "content-location", "location", "origin", "referer": redactor.url(value)
        case "cookie": value.split(separator: ";", omittingEmptySubsequences: false).map(cookie).joined(separator: "; ")
        case "set-cookie": setCookie(value)
        case "content-type": contentType(value)
        case "content-disposition": disposition(value)
        // As in a URL.
        case "host": value.isPlain ? value : Redactor.hidden(value.utf8)
        default: Self.harmless.contains(name) && ValueShape.isHarmless(value) ? value : Redactor.hidden(value.utf8)
        }
    }

    private func cookie(_ pair: Substring) -> String {
        let pair = pair.trimmingBlanks
        guard let equals = pair.firstIndex(of: "=") else { return Redactor.hidden(pair.utf8) }
        return "\(redactor.name(String(pair[..<equals])))=\(Redactor.hidden(pair[equals...].dropFirst().utf8))"
    }

    /// Attributes are public, apart from ones with unknown names or unusual values.
    private func setCookie(_ value: String) -> String {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false)
        let attributes = parts.dropFirst().map { part in
            let part = part.trimmingBlanks
            let name = part.prefix { $0 != "=" }.lowercased()
            guard Self.cookieAttributes.contains(name) else { return Redactor.hidden(part.utf8) }
            guard let equals = part.firstIndex(of: "=") else { return String(part) }
            return "\(part[...equals])\(redactor.value(ofCookieAttribute: String(part[equals...].dropFirst())))"
        }
        return ([cookie(parts[0])] + attributes).joined(separator: "; ")
    }

    private func contentType(_ value: String) -> String {
        let (type, parameters) = HeaderParameter.parse(value)
        let shown = parameters.map { parameter in
            let value = parameter.value ?? ""
            let isShown =
                switch parameter.name.lowercased() {
                case "charset": ValueShape.isCharset(value)
                case "boundary": parameter.value?.isPlain == true
                default: false
                }
            return isShown ? "\(parameter.name)=\(value)" : Redactor.hidden(parameter.text.utf8)
        }
        return ([ValueShape.isHarmless(type) ? type : Redactor.hidden(type.utf8)] + shown).joined(separator: "; ")
    }

    /// File names are hidden unless the field is harmless.
    private func disposition(_ value: String) -> String {
        let (type, parameters) = HeaderParameter.parse(value)
        let isKnown = ["form-data", "attachment", "inline"].contains(type.lowercased())
        let field = parameters.first { $0.name.lowercased() == "name" }?.value
        let shown = parameters.map { parameter in
            switch parameter.name.lowercased() {
            case "name": "name=\"\(redactor.name(parameter.value ?? ""))\""
            case "filename", "filename*":
                "\(parameter.name)=\"\(redactor.value(ofItem: field ?? "", parameter.value ?? ""))\""
            default: Redactor.hidden(parameter.text.utf8)
            }
        }
        return ([isKnown ? type : Redactor.hidden(type.utf8)] + shown).joined(separator: "; ")
    }

    private static let cookieAttributes: Set = [
        "domain", "expires", "httponly", "max-age", "partitioned", "path", "priority", "samesite", "secure",
    ]

    // In lower case. Any other name may be one that an app or a server uses for a secret.
    private static let harmless: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "accept-patch", "accept-ranges", "age",
        "allow", "cache-control", "connection", "content-encoding", "content-language", "content-length",
        "content-range",
        "date", "expect", "expires", "if-modified-since", "if-unmodified-since", "keep-alive", "last-modified",
        "pragma", "range", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after", "server",
        "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via",
        "x-content-type-options", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
    ]
}

/// A parameter of a header value, such as `charset=utf-8` of `text/html; charset=utf-8` (RFC 9110 section 5.6.6).
struct HeaderParameter {
    let name: String
    /// Without quotation marks and escapes; `nil` where there is none, or the second quotation mark is missing.
    let value: String?
    let isQuoted: Bool
    /// As received.
    let text: String

    /// Returns the text before the first semicolon, and the parameters; semicolons in the quotation marks of a value separate
    /// nothing.
    static func parse(_ header: String) -> (value: String, parameters: [HeaderParameter]) {
        var (rest, parameters) = (header.drop { $0 != ";" }, [HeaderParameter]())
        let first = header[..<rest.startIndex].trimmingBlanks
        while rest.popFirst() != nil {
            let whole = rest
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            var (value, isQuoted) = (String?.none, false)
            rest = rest[name.endIndex...]
            if rest.first == "=" {
                rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
                isQuoted = rest.first == "\""
                value = isQuoted ? quoted(&rest) : String(rest.prefix { $0 != ";" }.trimmingBlanks)
            }
            rest = rest.drop { $0 != ";" }
            let text = String(whole[..<rest.startIndex].trimmingBlanks)
            parameters.append(Self(name: String(name.trimmingBlanks), value: value, isQuoted: isQuoted, text: text))
        }
        return (String(first), parameters)
    }

    /// Returns `nil` without a closing quote.
    private static func quoted(_ rest: inout Substring) -> String? {
        var value = ""
        rest = rest.dropFirst()
        while let character = rest.popFirst() {
            switch character {
            case "\"": return value
            case "\\": if let escaped = rest.popFirst() { value.append(escaped) }
            default: value.append(character)
            }
        }
        return nil
    }
}

extension StringProtocol {
    /// Short and printable ASCII without an `@`, as values of known headers are.
    fileprivate var isPlain: Bool {
        utf8.count <= 256 && isPrintableASCII && !utf8.contains(UInt8(ascii: "@"))
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring { Substring(utf8.trimmingBlanks) }
}
