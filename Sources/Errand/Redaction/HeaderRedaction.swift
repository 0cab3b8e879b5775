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
        let (type, parameters) = HeaderParameters.parse(value)
        let shown = parameters.map { parameter in
            let isShown =
                switch parameter.name.lowercased() {
                case "charset": ValueShape.isCharset(parameter.value)
                case "boundary": parameter.value.isPlain
                default: false
                }
            return isShown ? "\(parameter.name)=\(parameter.value)" : Redactor.hidden(parameter.text.utf8)
        }
        return ([ValueShape.isHarmless(type) ? type : Redactor.hidden(type.utf8)] + shown).joined(separator: "; ")
    }

    /// File names are hidden unless the field is harmless.
    private func disposition(_ value: String) -> String {
        let (type, parameters) = HeaderParameters.parse(value)
        let isKnown = ["form-data", "attachment", "inline"].contains(type.lowercased())
        let field = parameters.first { $0.name.lowercased() == "name" }?.value
        let shown = parameters.map { parameter in
            switch parameter.name.lowercased() {
            case "name": "name=\"\(redactor.name(parameter.value))\""
            case "filename", "filename*":
                "\(parameter.name)=\"\(redactor.value(ofItem: field ?? "", parameter.value))\""
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
        "date", "expect", "expires", "host", "if-modified-since", "if-unmodified-since", "keep-alive", "last-modified",
        "pragma", "range", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after", "server",
        "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via",
        "x-content-type-options", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
    ]
}

/// A header value with parameters, such as `text/html; charset=utf-8` (RFC 9110 section 5.6.6).
enum HeaderParameters {
    /// The value is without quotation marks, the text as received.
    typealias Parameter = (name: String, value: String, text: String)

    /// Returns the text before the first semicolon, and the parameters.
    static func parse(_ value: String) -> (value: String, parameters: [Parameter]) {
        let parts = parts(of: value)
        let parameters = parts.dropFirst().map { part in
            let name = part.prefix { $0 != "=" }
            return (String(name.trimmingBlanks), unquoted(part[name.endIndex...].dropFirst().trimmingBlanks), part)
        }
        return (parts[0], parameters)
    }

    /// Semicolons in quotation marks separate nothing; at least one part.
    private static func parts(of value: String) -> [String] {
        var (parts, isQuoted, isEscaped) = ([""], false, false)
        for character in value {
            if character == ";" && !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"" && !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            parts[parts.count - 1].append(character)
        }
        return parts.map { String($0[...].trimmingBlanks) }
    }

    private static func unquoted(_ value: Substring) -> String {
        guard value.count >= 2, value.first == "\"", value.last == "\"" else { return String(value) }
        return String(value.dropFirst().dropLast().replacing("\\\"", with: "\""))
    }
}

extension StringProtocol {
    /// Short and printable ASCII without an `@`, as values of known headers are.
    fileprivate var isPlain: Bool {
        utf8.count <= 256 && utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "@") }
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring { Substring(utf8.trimmingBlanks) }
}
