import Errand
import Foundation

/// The parts of a URL as they are sent.
struct WireURL {
    private let bytes: [UInt8]
    private let authority: Range<Int>
    private let pathEnd: Int
    private let queryEnd: Int

    /// Splits an absolute URL; `nil` for one without a host.
    init?(_ url: URL) {
        bytes = Array(url.absoluteString.utf8)
        let slash = UInt8(ascii: "/")
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        guard bytes[(colon + 1)...].starts(with: [slash, slash]) else { return nil }
        let start = colon + 3
        let end = bytes[start...].firstIndex { $0 == slash || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        authority = start..<(end ?? bytes.endIndex)
        queryEnd = bytes[authority.upperBound...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let rest = bytes[authority.upperBound..<queryEnd]
        pathEnd = rest.firstIndex(of: UInt8(ascii: "?")) ?? queryEnd
        guard !authority.isEmpty else { return nil }
    }

    /// The path, percent-encoded.
    var path: ArraySlice<UInt8> { bytes[authority.upperBound..<pathEnd] }

    /// The query, percent-encoded; empty if there is none.
    var query: ArraySlice<UInt8> { bytes[pathEnd..<queryEnd].dropFirst() }

    /// The value of the `Host` header, which has no default port.
    var host: ArraySlice<UInt8> {
        let authority = bytes[self.authority]
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        let isSecure = bytes.starts(with: "https:".utf8) || bytes.starts(with: "HTTPS:".utf8)
        let port = isSecure ? ":443" : ":80"
        let hasDefaultPort = host.count > port.utf8.count && host.suffix(port.utf8.count).elementsEqual(port.utf8)
        return hasDefaultPort ? host.dropLast(port.utf8.count) : host
    }

    /// Returns the URL with another query, and without a fragment.
    func replacingQuery(with query: [UInt8]) -> URL? {
        let separator = query.isEmpty ? [] : [UInt8(ascii: "?")]
        return URL(verbatim: String(decoding: bytes[..<pathEnd] + separator + query, as: UTF8.self))
    }
}
