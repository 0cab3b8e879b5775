#if os(Linux)
import Foundation

/// The URL of a request, divided into what libcurl needs.
struct CurlURL {
    /// The URL as text.
    let text: String
    /// The scheme and authority; requests share a connection only when these are equal.
    let origin: String
    /// The path and query for the request line (RFC 9112 section 3.2.1), which is never empty.
    let target: String
    /// Whether the scheme is `https`; otherwise it is `http`.
    let isSecure: Bool

    init(_ url: URL) {
        text = url.absoluteString
        isSecure = text.utf8.dropFirst("http".utf8.count).first != UInt8(ascii: ":")
        (origin, target) = Self.originAndTarget(of: text)
    }

    /// The part of an absolute URL before its path, and the rest without the fragment, which is never empty.
    private static func originAndTarget(of text: String) -> (origin: String, target: String) {
        var text = text
        return text.withUTF8 { bytes in
            let authority = bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst("://".utf8.count)
            let rest = authority.drop { !$0.endsAuthority }.prefix { $0 != UInt8(ascii: "#") }
            let target = String(decoding: rest, as: UTF8.self)
            let origin = String(decoding: bytes[..<rest.startIndex], as: UTF8.self)
            return (origin, rest.first == UInt8(ascii: "/") ? target : "/" + target)
        }
    }
}

extension UInt8 {
    /// Whether the byte ends the authority of a URL (RFC 3986 section 3.2).
    fileprivate var endsAuthority: Bool {
        self == UInt8(ascii: "/") || self == UInt8(ascii: "?") || self == UInt8(ascii: "#")
    }
}
#endif
