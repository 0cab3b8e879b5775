/// The host names of cookies (RFC 6265bis sections 5.1.2 and 5.1.3).
enum CookieHost {
    /// The name in lower case and, where it is international, in its `xn--` form; `nil` for what cannot be a host.
    static func canonical(_ host: String) -> String? {
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }) else {
            return nil
        }
        if host.utf8.allSatisfy({ $0 < 0x80 && $0 == $0.asciiLowercased }) { return host }
        return host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
            .map { Punycode.label(String($0)) }
            .joined(separator: ".")
    }

    /// Whether the host is an address: an IPv6 one, or any name that ends in a number.
    ///
    /// The URL standard reads `127.0.0.1`, `127.1` and `0x7f.1` as one IPv4 address, so none of them has a parent.
    static func isAddress(_ host: String) -> Bool {
        guard !host.utf8.contains(UInt8(ascii: ":")) else { return true }
        let name = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        let last = name.lastIndex(of: UInt8(ascii: ".")).map { name[name.index(after: $0)...] } ?? name
        return last.allSatisfy(\.isASCIIDigit) || last.starts(with: "0x".utf8)
    }

    /// Whether `host` is `domain` or, being a name, below it.
    static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        return host.utf8.count > domain.utf8.count && host.hasSuffix(domain)
            && host.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".") && !isAddress(host)
    }

    /// The host and, for a name, the domains above it.
    static func domains(of host: String) -> [String] {
        guard !isAddress(host) else { return [host] }
        var domains = [host]
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            domains.append(String(rest))
        }
        return domains
    }

    /// Whether the host is this machine by its very name (RFC 6761 section 6.3).
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || host.hasPrefix("127.") && isAddress(host)
    }
}
