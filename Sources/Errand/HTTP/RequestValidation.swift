import Foundation

extension HTTPRequest {
    /// Checks everything that could forge or split a request, before a byte is sent.
    ///
    /// The method and header names are tokens (RFC 9110 section 5.6.2), and the method is neither `CONNECT` nor `PRI`; header
    /// values contain no control character other than TAB (section 5.5); the URL is an absolute `http` or `https` URL with a host
    /// and without credentials; a `HEAD` request has no body.
    package func validate() throws(TransportError) {
        guard !isValidated else { return }
        guard !method.rawValue.isEmpty, method.rawValue.utf8.allSatisfy(\.isToken) else {
            throw TransportError(.invalidRequest, "the method is not a token")
        }
        guard !method.isReserved else {
            throw TransportError(.invalidRequest, "the method \(method) makes a connection; only the transport does")
        }
        guard method != .head || body.isEmpty else {
            throw TransportError(.invalidRequest, "a HEAD request cannot have a body")
        }
        guard let scheme = url.scheme?.utf8,
            scheme.equalsIgnoringCase("http") || scheme.equalsIgnoringCase("https")
        else {
            throw TransportError(.invalidRequest, "the URL is neither http nor https")
        }
        guard let host = url.host(percentEncoded: false), !host.isEmpty else {
            throw TransportError(.invalidRequest, "the URL has no host")
        }
        guard (0...65535).contains(url.port ?? 0) else {
            throw TransportError(.invalidRequest, "the URL's port is not a TCP port")
        }
        guard url.user == nil, url.password == nil else {
            throw TransportError(.invalidRequest, "the URL contains credentials; send them in a header")
        }
        #if !canImport(Darwin)
        guard allowsCellularAccess else {
            throw TransportError(.invalidRequest, "only Apple's platforms know allowsCellularAccess = false")
        }
        #endif
        for field in headers { try field.validate() }
    }
}

extension HTTPField {
    fileprivate func validate() throws(TransportError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isToken) else {
            throw TransportError(.invalidRequest, "a header name is not a token")
        }
        guard !value.utf8.contains(where: \.isControlExceptTab) else {
            let shown = Redactor.shared.name(ofHeader: name)
            throw TransportError(.invalidRequest, "the value of the header \(shown) contains a control character")
        }
    }
}
