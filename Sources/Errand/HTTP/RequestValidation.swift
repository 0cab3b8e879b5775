import Foundation

extension HTTPRequest {
    /// Checks everything that could forge or split a request, before a byte is sent.
    ///
    /// The method and header names are tokens (RFC 9110 section 5.6.2); header values hold no control character but TAB
    /// (section 5.5); the URL is an absolute `http` or `https` one with a host and without credentials.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``.
    public func validate() throws(TransportError) {
        guard method.rawValue.utf8.count > 0, method.rawValue.utf8.allSatisfy(\.isToken) else {
            throw TransportError(.invalidRequest, "the method is not a token")
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw TransportError(.invalidRequest, "the URL is neither http nor https")
        }
        guard let host = url.host(percentEncoded: false), !host.isEmpty else {
            throw TransportError(.invalidRequest, "the URL has no host")
        }
        guard (0...65535).contains(url.port ?? 0) else {
            throw TransportError(.invalidRequest, "the URL's port is not one of TCP")
        }
        guard url.user == nil, url.password == nil else {
            throw TransportError(.invalidRequest, "the URL holds credentials, which belong into a header")
        }
        for field in headers { try field.validate() }
    }
}

extension HTTPField {
    fileprivate func validate() throws(TransportError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isToken) else {
            throw TransportError(.invalidRequest, "a header name is not a token")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw TransportError(.invalidRequest, "the value of the header \(name) holds a control character")
        }
    }
}

extension UInt8 {
    /// Whether the byte may stand in a token (RFC 9110 section 5.6.2).
    var isToken: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default:
            Self.tokenPunctuation.contains(self)
        }
    }

    private static let tokenPunctuation = Array("!#$%&'*+-.^_`|~".utf8)
}
