package import Foundation

/// The scheme, host and port of a URL (RFC 6454), which determine where secrets may be sent.
///
/// Hosts are compared by name: a name with a trailing dot, or another notation of an address, is another origin, although it
/// may refer to the same server.
struct Origin: Hashable {
    let scheme: String
    let host: String
    private let port: UInt16?

    /// `nil` for a URL without a host.
    init?(_ url: URL) {
        guard let reference = URLReference(url.absoluteString.utf8), let scheme = reference.scheme,
            let authority = reference.authority, !authority.host.isEmpty
        else { return nil }
        self.scheme = scheme
        host = String(decoding: authority.host.utf8.map(\.asciiLowercased), as: UTF8.self)
        let standardPorts: [String: UInt16] = ["http": 80, "https": 443]
        port = authority.port == standardPorts[scheme] ? nil : authority.port
    }
}

extension Origin: CustomStringConvertible {
    /// RFC 6454 section 6.2: `https://a.test:8443`, without the scheme's default port.
    var description: String { "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")" }
}

extension URL {
    /// The host may be an IPv6 address without brackets; `nil` for an invalid host.
    init?(serverOf host: String, port: Int) {
        guard !host.isEmpty else { return nil }
        let isAddress = host.contains(":") && !host.hasPrefix("[")
        self.init(string: "https://\(isAddress ? "[\(host)]" : host):\(port)")
    }

    /// `false` for a URL without a host.
    package func hasSameOrigin(as other: URL) -> Bool {
        guard let origin = Origin(self) else { return false }
        return origin == Origin(other)
    }

    /// For messages; only the scheme of a URL without a host.
    var originText: String { Origin(self)?.description ?? "\(scheme ?? ""):" }

    /// What a limit for a host applies to.
    var queueHost: String { originText }
}
