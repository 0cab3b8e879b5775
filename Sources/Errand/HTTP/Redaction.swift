import Foundation

/// Printable forms of values that can contain secrets: known harmless parts, and only the size of everything else.
enum Redaction {
    /// Returns the placeholder for `bytes`.
    static func hidden(_ bytes: some Collection<UInt8>) -> String { "<redacted \(bytes.count) bytes>" }

    /// Returns the printable form of a header line's value, which depends on the name.
    static func value(of name: String, _ value: String) -> String {
        let name = name.lowercased()
        guard !harmlessHeaders.contains(name) else { return value }
        return headersWithURL.contains(name) ? url(value) : hidden(value.utf8)
    }

    /// Returns a URL or a relative reference without user, password, fragment and the values of its query.
    static func url(_ text: String) -> String {
        let query = text.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
        let names = query.split(separator: "&").map { item in
            // An item without a name may be a secret as a whole.
            item.firstIndex(of: "=").map { String(item[..<$0]) } ?? hidden(item.utf8)
        }
        return path(text) + (names.isEmpty ? "" : "?\(names.joined(separator: "&"))")
    }

    /// Returns a URL or a path without user, password, query and fragment.
    static func path(_ text: String) -> String {
        let text = text.prefix { $0 != "?" && $0 != "#" }
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let hasScheme = scheme.first?.isLetter == true && text[scheme.endIndex...].first == ":"
        let rest = hasScheme ? text[scheme.endIndex...].dropFirst() : text
        guard rest.hasPrefix("//") else { return hasScheme ? "\(scheme):\(hidden(rest.utf8))" : String(text) }
        return (hasScheme ? "\(scheme):" : "") + hierarchy(rest.dropFirst(2))
    }

    /// Returns host, port and path, or the placeholder when the part before the path is not a host.
    private static func hierarchy(_ text: Substring) -> String {
        let authority = text.prefix { $0 != "/" && $0 != "\\" }
        let host = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        let name = host.hasPrefix("[") ? host.drop { $0 != "]" }.dropFirst() : host.drop { $0 != ":" }
        let port = name.dropFirst()
        guard name.isEmpty || name.first == ":", port.allSatisfy({ $0.isASCII && $0.isNumber }) else {
            return "//" + hidden(text.utf8)
        }
        return "//\(host)\(text[authority.endIndex...])"
    }

    private static let headersWithURL: Set = ["content-location", "location", "origin", "referer"]

    // In lower case. Any other name may be one that an app or a server uses for a secret.
    private static let harmlessHeaders: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "accept-patch", "accept-ranges", "age",
        "allow",
        "cache-control", "connection", "content-encoding", "content-language", "content-length", "content-range",
        "content-type", "date", "expect", "expires", "host", "if-modified-since", "if-unmodified-since", "keep-alive",
        "last-modified", "pragma", "range", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after",
        "server", "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary",
        "via",
        "x-content-type-options", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
    ]
}

extension Mirror {
    /// Creates the mirror of an object whose properties, inherited ones included, may contain secrets.
    init(withoutChildren object: some AnyObject) {
        self.init(object, children: [:], ancestorRepresentation: .suppressed)
    }
}

extension HTTPField: CustomStringConvertible, CustomReflectable {
    /// The line, with its value only when the name is known to be harmless.
    public var description: String { "\(name): \(Redaction.value(of: name, value))" }

    /// The line as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The lines, without the values of secrets.
    public var description: String { map(\.description).description }

    /// The lines, without the values of secrets.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: map(\.description)) }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
    /// The pieces, without their contents.
    public var description: String { pieces.map(\.description).description }

    /// The body as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension HTTPBody.Piece: CustomStringConvertible, CustomReflectable {
    /// The number of bytes, or the path of the file.
    public var description: String {
        switch self {
        case .data(let data): "\(data.count) bytes"
        case .file(let file): "file \(Redaction.path(file.absoluteString))"
        case .stream(let stream): "\(stream)"
        }
    }

    /// The piece as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["piece": description]) }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without user, password, fragment and the values of its query.
    public var description: String { "\(method) \(Redaction.url(url.absoluteString))" }

    /// The request as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size, without the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }

    /// The response as in ``description``, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}
