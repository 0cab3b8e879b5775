import Foundation

/// What cookies need to know of a URL.
struct CookieOrigin {
    /// The canonical host, an IPv6 address without its brackets.
    let host: String
    /// The path as it goes over the wire, at least `/`.
    let path: String
    /// Whether `Secure` cookies may come and go here.
    let isSecure: Bool

    /// `nil` when the URL is not `http` or `https` or has no host.
    init?(_ url: URL, trustingLoopback: Bool) {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return nil }
        guard let host = url.host(percentEncoded: false).flatMap(CookieHost.canonical) else { return nil }
        let path = url.path(percentEncoded: true)
        self.host = host
        self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
        isSecure = scheme == "https" || trustingLoopback && CookieHost.isLoopback(host)
    }

    /// The path of a cookie that names none (RFC 6265bis section 5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Whether a cookie of `cookiePath` is sent to this path.
    func matches(path cookiePath: String) -> Bool {
        Self.path(path, isAtOrBelow: cookiePath)
    }

    /// The path-match of RFC 6265bis section 5.1.4.
    static func path(_ path: String, isAtOrBelow cookiePath: String) -> Bool {
        guard path.utf8.starts(with: cookiePath.utf8) else { return false }
        let rest = path.utf8.dropFirst(cookiePath.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/") || cookiePath.utf8.last == UInt8(ascii: "/")
    }
}
