import Foundation

/// The host of a URL in one form for all notations of a name or an address.
///
/// ``Origin`` keeps notations apart, so that secrets are sent to one alone. What must hold for a server in every notation, such
/// as its pinned keys, is looked up by this form: in lower case, percent-decoded, without a trailing dot; an IPv4 address as
/// four decimal numbers, an IPv6 address as in RFC 5952 without brackets and zone.
package struct HostName: Hashable {
    let text: String
    let isAddress: Bool

    /// That of a name with a trailing dot is one more (RFC 1035 section 2.3.4).
    private static let maximumLength = 253

    /// `nil` without a host, for a name that is too long for the DNS or not ASCII even when the URL encodes it, and for one with
    /// an empty label, such as `a.test..`: libraries map such names differently.
    init?(_ url: URL) {
        guard let host = Origin(url)?.host, url.host?.utf8.allSatisfy({ $0 < 0x80 }) == true else { return nil }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard name.utf8.count <= Self.maximumLength else { return nil }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard !labels.contains(where: \.isEmpty) else { return nil }
        let address = name.hasPrefix("[") ? Self.version6(name.dropFirst().dropLast()) : Self.version4(name)
        guard address != nil || !name.hasPrefix("[") else { return nil }
        (text, isAddress) = (address ?? name, address != nil)
    }

    /// The longest first; none for an address.
    var parents: some Sequence<String> {
        let labels = isAddress ? [] : text.split(separator: ".", omittingEmptySubsequences: false).dropFirst()
        return labels.indices.lazy.map { labels[$0...].joined(separator: ".") }
    }

    /// As libcurl sends it: four decimal numbers, or RFC 5952 in brackets; `nil` for a name, and for an address with a zone.
    package static func address(_ host: String) -> String? {
        guard host.hasPrefix("[") else { return version4(host) }
        return canonical(host.dropFirst().dropLast()).map { "[\($0)]" }
    }

    /// Any notation of `inet_aton`, as resolvers accept it; `nil` for a name.
    private static func version4(_ text: String) -> String? {
        var address = in_addr()
        return inet_aton(text, &address) != 0 ? Self.text(of: address, AF_INET) : nil
    }

    private static func version6(_ text: Substring) -> String? {
        let canonical = Self.canonical(text.prefix { $0 != "%" })
        // A socket for a mapped address (RFC 4291 section 2.5.5.2) connects to the IPv4 address.
        let mapped = canonical.flatMap { $0.hasPrefix("::ffff:") ? Self.version4(String($0.dropFirst(7))) : nil }
        return mapped ?? canonical
    }

    /// RFC 5952; `nil` for an address with a zone.
    private static func canonical(_ text: Substring) -> String? {
        var bytes = in6_addr()
        return inet_pton(AF_INET6, String(text), &bytes) == 1 ? Self.text(of: bytes, AF_INET6) : nil
    }

    private static func text<Address>(of address: Address, _ family: Int32) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let count = socklen_t(buffer.count)
        let isDone = withUnsafePointer(to: address) { inet_ntop(family, $0, &buffer, count) != nil }
        return isDone ? String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }
}
