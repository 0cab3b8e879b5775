package import Foundation

/// A URL or a relative reference in a server's `Location` or `Link` (RFC 3986 section 4.1).
///
/// References are parsed and resolved as text: `URL(string:relativeTo:)` would encode the triplets of a component again when
/// one of its bytes is illegal, and would keep the dot segments of absolute references.
struct URLReference {
    /// In lower case; `nil` in a relative reference.
    private(set) var scheme: String?
    /// `nil` when the reference has none.
    private(set) var authority: URLAuthority?
    private var path: String
    private var query: String?

    /// RFC 3986 appendix B; `nil` when the authority is malformed.
    ///
    /// Bytes that path and query may not contain are percent-encoded; existing triplets are kept. Blanks at both ends, user
    /// info and the fragment are removed.
    init?(_ bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...].trimmingBlanks.prefix { $0 != UInt8(ascii: "#") }
        scheme = rest.takeScheme()
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard let authority = URLAuthority(rest[..<end]) else { return nil }
            self.authority = authority
            rest = rest[end...]
        }
        let mark = rest.firstIndex(of: UInt8(ascii: "?"))
        path = PercentEncoding.path(rest[..<(mark ?? rest.endIndex)])
        query = mark.map { PercentEncoding.path(rest[($0 + 1)...]) }
    }

    /// RFC 3986 section 5.2, without the exception for old parsers.
    ///
    /// `nil` when the result is not a URL, or is an `http` or `https` URL without a host.
    func resolved(against base: URL) -> URL? {
        guard let base = URLReference(base.absoluteString.utf8) else { return nil }
        var target = self
        if scheme == nil, authority == nil {
            target.authority = base.authority
            target.query = path.isEmpty ? query ?? base.query : query
            target.path = base.merged(with: path)
        }
        target.scheme = scheme ?? base.scheme
        target.path = Self.removingDotSegments(from: target.path)
        return target.url
    }

    /// RFC 3986 section 5.2.3.
    private func merged(with other: String) -> String {
        if other.isEmpty { return path }
        if other.utf8.first == UInt8(ascii: "/") { return other }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "/" + other }
        return path[...slash] + other
    }

    /// RFC 3986 section 5.2.4; a path that does not begin with `/` is unchanged.
    static func removingDotSegments(from path: String) -> String {
        guard path.utf8.first == UInt8(ascii: "/") else { return path }
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for segment in segments {
            switch segment {
            case ".": break
            case "..": _ = kept.popLast()
            default: kept.append(segment)
            }
        }
        if segments.last == "." || segments.last == ".." { kept.append("") }
        return "/" + kept.joined(separator: "/")
    }

    private var url: URL? {
        guard let scheme else { return nil }
        guard authority?.host.isEmpty == false || scheme != "http" && scheme != "https" else { return nil }
        let place = authority.map { "//\($0.text)" } ?? ""
        return URL(verbatim: scheme + ":" + place + path + (query.map { "?\($0)" } ?? ""))
    }
}

/// The host and the port of a URL (RFC 3986 section 3.2), without user info.
struct URLAuthority {
    /// In ASCII, or an address, in brackets for IPv6; empty in `file:///`.
    let host: String
    /// `nil` for the scheme's default port.
    let port: UInt16?

    var text: String { host + (port.map { ":\($0)" } ?? "") }

    /// `nil` without a valid host, or when the port is not a TCP port.
    init?(_ bytes: ArraySlice<UInt8>) {
        let place = bytes.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last ?? bytes
        // The colons of an IPv6 address are in brackets.
        let name = place.first == UInt8(ascii: "[") ? place.drop { $0 != UInt8(ascii: "]") } : place
        let end = name.firstIndex(of: UInt8(ascii: ":")) ?? place.endIndex
        let digits = String(decoding: place[end...].dropFirst(), as: UTF8.self)
        port = digits.utf8.allSatisfy(\.isASCIIDigit) ? UInt16(digits) : nil
        guard digits.isEmpty || port != nil, let host = Self.host(place[..<end]) else { return nil }
        self.host = host
    }

    private static func host(_ bytes: ArraySlice<UInt8>) -> String? {
        if bytes.first == UInt8(ascii: "[") { return address(bytes) }
        let name = String(validating: bytes, as: UTF8.self)?.removingPercentEncoding
        return name.flatMap(ascii)
    }

    static func ascii(_ name: String) -> String? {
        guard name.utf8.allSatisfy({ $0 >= 0x80 || $0.isNameByte }) else { return nil }
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name }
        // Foundation maps international names to ASCII (IDNA).
        guard let ascii = URL(string: "http://\(name)")?.host, ascii.utf8.allSatisfy(\.isNameByte) else { return nil }
        return ascii
    }

    private static func address(_ bytes: ArraySlice<UInt8>) -> String? {
        let inner = bytes.dropFirst().dropLast()
        // A zone is written as `%25` and its name (RFC 6874).
        let isMark: (UInt8) -> Bool = { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
        guard bytes.last == UInt8(ascii: "]"), !inner.isEmpty, inner.allSatisfy({ isMark($0) || $0.isUnreserved })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension URL {
    /// `nil` when Foundation would have to change the text.
    package init?(verbatim text: String) {
        self.init(string: text)
        guard absoluteString == text else { return nil }
    }
}

extension ArraySlice<UInt8> {
    /// RFC 3986 section 3.1; in lower case.
    fileprivate mutating func takeScheme() -> String? {
        let scheme = prefix { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) }
        guard scheme.first?.isASCIILetter == true else { return nil }
        guard self[scheme.endIndex...].first == UInt8(ascii: ":") else { return nil }
        self = self[scheme.endIndex...].dropFirst()
        return String(decoding: scheme.map(\.asciiLowercased), as: UTF8.self)
    }
}

extension UInt8 {
    /// RFC 3986 section 3.2.2.
    fileprivate var isNameByte: Bool { isUnreserved || isSubDelimiter }
}
