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

    var path: ArraySlice<UInt8> { bytes[authority.upperBound..<pathEnd] }

    /// The query, percent-encoded; empty if there is none.
    var query: ArraySlice<UInt8> { bytes[pathEnd..<queryEnd].dropFirst() }

    /// Path and query as they are sent (RFC 9112 section 3.2.1).
    var target: String {
        let text = String(decoding: bytes[authority.upperBound..<queryEnd], as: UTF8.self)
        return text.utf8.first == UInt8(ascii: "/") ? text : "/" + text
    }

    /// The value of the `Host` header: the name unescaped, and no default port.
    var host: [UInt8] {
        let authority = bytes[self.authority]
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        let colon = host.lastIndex(of: UInt8(ascii: ":")) ?? host.endIndex
        let digits = host[colon...].dropFirst()
        guard digits.allSatisfy(\.isASCIIDigit) else { return PercentEncoding.decoded(host) }
        let name = PercentEncoding.decoded(host[..<colon])
        let isSecure = bytes.prefix("https:".utf8.count).lazy.map(\.asciiLowercased).elementsEqual("https:".utf8)
        let port = Int(String(decoding: digits, as: UTF8.self))
        return port.map { $0 == (isSecure ? 443 : 80) ? name : name + ":\($0)".utf8 } ?? name
    }

    /// The URL with an address in the notation in which libcurl sends it as `Host`; `nil` if it has no other notation.
    ///
    /// As in the URL standard of WHATWG: `http://127.1` and `http://0x7f000001` are `http://127.0.0.1`.
    var withUsualAddress: URL? {
        let authority = bytes[self.authority]
        // Nothing else is an address, and most hosts are names.
        guard let first = authority.first, first.isASCIIDigit || first == UInt8(ascii: "[") else { return nil }
        let name = first == UInt8(ascii: "[") ? authority.drop { $0 != UInt8(ascii: "]") } : authority
        let end = name.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let host = String(decoding: authority[..<end], as: UTF8.self)
        guard let address = HostName.address(host), address != host else { return nil }
        return URL(
            verbatim: String(decoding: bytes[..<authority.startIndex] + address.utf8 + bytes[end...], as: UTF8.self)
        )
    }

    /// Returns the URL without the pairs of its query that have one of these names, unescaped; `nil` if it has none of them.
    func removingPairs(named names: Set<String>) -> URL? {
        let pairs = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let rest = pairs.filter { pair in
            !names.contains(PercentEncoding.decodedFormText(pair.prefix { $0 != UInt8(ascii: "=") }))
        }
        guard rest.count < pairs.count else { return nil }
        return replacingQuery(with: Array(rest.joined(separator: [UInt8(ascii: "&")])))
    }

    /// Returns the URL with another query, and without a fragment.
    func replacingQuery(with query: [UInt8]) -> URL? {
        let separator = query.isEmpty ? [] : [UInt8(ascii: "?")]
        return URL(verbatim: String(decoding: bytes[..<pathEnd] + separator + query, as: UTF8.self))
    }
}

extension [UInt8] {
    /// Appends a pair to a query, percent-encoded.
    mutating func appendPair(_ name: some Sequence<UInt8>, _ value: some Sequence<UInt8>) {
        if !isEmpty { append(UInt8(ascii: "&")) }
        self += PercentEncoding.encoded(name) + [UInt8(ascii: "=")] + PercentEncoding.encoded(value)
    }
}
