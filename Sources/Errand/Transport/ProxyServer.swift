import Foundation

/// The proxy server of a URL, in the form that Apple's systems require.
struct ProxyServer: Equatable {
    /// How requests are sent through the proxy server.
    enum Kind: Equatable {
        /// Through a connection of `CONNECT` (RFC 9110 section 9.3.6).
        case http
        /// With TLS to the proxy server.
        case https
        /// Through SOCKS 5 (RFC 1928), with host names that the proxy server looks up.
        case socks5
    }

    let kind: Kind
    let host: String
    let port: UInt16
    let user: String?
    let password: String?

    /// Without a port, it is 443 for `https` and 1080 for others, as with libcurl; an error has no user and password.
    init(_ url: URL) throws(TransportError) {
        switch url.scheme?.lowercased() {
        case "http": kind = .http
        case "https": kind = .https
        case "socks5h": kind = .socks5
        case "socks5": throw .refusal(of: "proxy", "its server looks up host names; use socks5h")
        default: throw .refusal(of: "proxy", "its URL does not begin with http, https or socks5h")
        }
        let host = url.host(percentEncoded: false)?.trimmingCharacters(in: CharacterSet(charactersIn: "[]")) ?? ""
        guard !host.isEmpty else { throw .refusal(of: "proxy", "its URL has no host") }
        guard let port = UInt16(exactly: url.port ?? (kind == .https ? 443 : 1080)), port > 0 else {
            throw .refusal(of: "proxy", "the port of its URL is not one of 1 through 65535")
        }
        (self.host, self.port) = (host, port)
        user = url.user(percentEncoded: false)
        password = url.password(percentEncoded: false)
    }
}

extension TransportConfiguration.Proxy {
    func server() throws(TransportError) -> ProxyServer? {
        if case .url(let url) = self { try ProxyServer(url) } else { nil }
    }
}
