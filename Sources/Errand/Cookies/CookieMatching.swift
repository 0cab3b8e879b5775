import Foundation

/// The parts of a URL that cookies are matched against.
struct CookieURL {
    /// An IPv6 address without its brackets.
    let host: String
    /// At least `/`.
    let path: String
    /// Whether `Secure` cookies may be set by and sent to this URL.
    let isSecure: Bool

    /// No name is longer (RFC 1035 section 2.3.4); a server may redirect to one that is.
    private static let longestHost = 255

    /// `nil` without a host that a name server could know.
    init?(_ url: URL, trustsLoopback: Bool) {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return nil }
        guard let name = url.host(percentEncoded: false), name.utf8.count <= Self.longestHost,
            let host = CookieDomain.canonical(name)
        else { return nil }
        let path = url.path(percentEncoded: true)
        self.host = host
        self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
        isSecure = scheme == "https" || trustsLoopback && CookieDomain.isLoopback(host)
    }

    /// RFC 6265bis section 5.1.4.
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

/// The domains of cookies (RFC 6265bis sections 5.1.2 and 5.1.3).
enum CookieDomain {
    /// In lower case, an international one in its `xn--` form; `nil` for what cannot be a host.
    static func canonical(_ host: String) -> String? {
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }) else {
            return nil
        }
        let name = host.utf8.allSatisfy { $0 == $0.asciiLowercased } ? host : host.lowercased()
        return name.utf8.allSatisfy { $0 < 0x80 } ? name : URLAuthority.ascii(name)
    }

    /// The URL standard reads `127.0.0.1`, `127.1` and `0x7f.1` as one IPv4 address, so none of them has a parent domain.
    static func isAddress(_ host: String) -> Bool {
        guard !host.utf8.contains(UInt8(ascii: ":")) else { return true }
        let name = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        let last = name.lastIndex(of: UInt8(ascii: ".")).map { name[name.index(after: $0)...] } ?? name
        return last.allSatisfy(\.isASCIIDigit) || last.starts(with: "0x".utf8)
    }

    static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        return host.utf8.count > domain.utf8.count && host.hasSuffix(domain)
            && host.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".") && !isAddress(host)
    }

    /// Every domain that ``matches(_:domain:)`` accepts.
    static func candidates(for host: String) -> [String] {
        guard !isAddress(host) else { return [host] }
        var domains = [host]
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            domains.append(String(rest))
        }
        return domains
    }

    /// Also a name that is reserved for loopback (RFC 6761 section 6.3).
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || host.hasPrefix("127.") && isAddress(host)
    }
}

extension Cookie {
    /// The host of `url` has the cookie's domain among its candidates.
    func isSent(to url: CookieURL, at date: Date) -> Bool {
        (!isHostOnly || domain == url.host) && (!isSecure || url.isSecure) && !isExpired(at: date)
            && matches(path: url.path)
    }

    /// Whether this insecure cookie would be sent in the place of `other`, a secure one (RFC 6265bis section 5.7, step 16).
    func shadows(_ other: Cookie) -> Bool {
        other.isSecure && other.nameBytes == nameBytes && other.matches(path: path)
            && [(domain, other.domain), (other.domain, domain)].contains { CookieDomain.matches($0, domain: $1) }
    }

    /// RFC 6265bis section 5.1.4.
    private func matches(path requested: String) -> Bool {
        guard requested.utf8.starts(with: path.utf8) else { return false }
        let rest = requested.utf8.dropFirst(path.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/") || path.utf8.last == UInt8(ascii: "/")
    }
}
