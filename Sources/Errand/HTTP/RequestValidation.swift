import Foundation

extension HTTPRequest {
    /// Checks everything that could forge or split a request, before a byte is sent.
    ///
    /// The method and header names are tokens (RFC 9110 section 5.6.2), and the method is neither `CONNECT` nor `PRI`; header
    /// values contain no control character other than TAB (section 5.5); the URL is an absolute `http` or `https` URL with a host
    /// and without credentials; a `HEAD` request has no body.
    package func validate() throws(TransportError) {
        guard !isValidated else { return }
        if let fault { throw TransportError(.invalidRequest, fault) }
        for field in headers { try field.validate() }
    }

    private var fault: String? {
        if method.rawValue.isEmpty || !method.rawValue.utf8.allSatisfy(\.isToken) { return "the method is not a token" }
        if method.isReserved { return "the method \(method) makes a connection; only the transport does" }
        if method == .head, !body.isEmpty { return "a HEAD request cannot have a body" }
        let scheme = (url.scheme ?? "").utf8
        if !scheme.equalsIgnoringCase("http"), !scheme.equalsIgnoringCase("https") {
            return "the URL is neither http nor https"
        }
        if url.host(percentEncoded: false)?.isEmpty != false { return "the URL has no host" }
        if !(0...65535).contains(url.port ?? 0) { return "the URL's port is not a TCP port" }
        if url.user != nil || url.password != nil { return "the URL contains credentials; send them in a header" }
        #if !canImport(Darwin)
        if !allowsCellularAccess { return "only Apple's platforms know allowsCellularAccess = false" }
        #endif
        return nil
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
