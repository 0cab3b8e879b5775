#if os(Linux)
import Foundation

/// The URL of a request, divided into what libcurl needs.
struct CurlURL {
    let text: String
    /// Requests share a connection only when these are equal.
    let origin: String
    /// RFC 9112 section 3.2.1; never empty.
    let target: String
    let isSecure: Bool

    init(_ url: URL) {
        text = url.absoluteString
        isSecure = text.utf8.dropFirst("http".utf8.count).first != UInt8(ascii: ":")
        let authority = text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst("://".utf8.count)
        let rest = authority.drop { !$0.endsAuthority }
        origin = String(text[..<rest.startIndex])
        let target = String(Substring(rest.prefix { $0 != UInt8(ascii: "#") }))
        self.target = target.hasPrefix("/") ? target : "/" + target
    }
}

extension UInt8 {
    /// RFC 3986 section 3.2.
    fileprivate var endsAuthority: Bool {
        self == UInt8(ascii: "/") || self == UInt8(ascii: "?") || self == UInt8(ascii: "#")
    }
}
#endif
