import Foundation

extension TransportError {
    /// Creates an error from one of `URLSession`; on Linux, that often has an unspecific code and libcurl's message.
    ///
    /// An exchange that is cancelled has ended before its task: a cancellation by the session is that of a connection, such as
    /// one for which another task has refused the certificate.
    ///
    /// The underlying error has the code and the message, but not the URL, whose query may contain secrets.
    ///
    /// - Parameters:
    ///   - error: The error of the task.
    ///   - request: The request of the task.
    ///   - refusal: Why the certificate of the server was refused; `nil` when it was not.
    init(urlSessionError error: NSError, of request: HTTPRequest, refusal: TransportError?) {
        // libcurl quotes the URL of a proxy server.
        let mayHavePassword = Self.isFromLibcurl && error.localizedDescription.mayHavePassword
        let text = mayHavePassword ? "the exchange failed with code \(error.code)" : error.localizedDescription
        let safe = NSError(domain: error.domain, code: error.code, userInfo: [NSLocalizedDescriptionKey: text])
        if let refusal, error.isURLSessionCancellation {
            self.init(refusal.kind, refusal.reason, underlying: safe)
        } else {
            let kind = Self.kind(ofURLSessionError: error, readsText: Self.isFromLibcurl)
            self.init(kind, kind == .hostNotFound ? Self.noAddress(of: request) : text, underlying: safe)
        }
    }

    var isURLSessionCancellation: Bool { (underlying as NSError?)?.isURLSessionCancellation ?? false }

    /// Returns the kind of an error of `URLSession`, with `readsText` from its text when its code is not specific.
    static func kind(ofURLSessionError error: NSError, readsText: Bool) -> Kind {
        let isCFNetwork = error.domain == "kCFErrorDomainCFNetwork"
        let isKnown = isCFNetwork || error.domain == NSURLErrorDomain
        // The server has closed the connection during the handshake.
        if isKnown, error.code == NSURLErrorSecureConnectionFailed, error.streamCode.map(closedCodes.contains) == true {
            return .cannotConnect
        }
        if isKnown, let kind = kinds[error.code] { return kind }
        guard !readsText else { return kind(ofText: error.localizedDescription) }
        if isKnown, let kind = appleKinds[error.code] { return kind }
        return isCFNetwork && proxyCodes.contains(where: { $0.contains(error.code) }) ? .cannotConnect : .connectionLost
    }

    #if canImport(FoundationNetworking)
    private static let isFromLibcurl = true
    #else
    private static let isFromLibcurl = false
    #endif

    /// `errSSLClosedGraceful`, `errSSLClosedAbort` and `errSSLClosedNoNotify`.
    private static let closedCodes: Set<Int> = [-9805, -9806, -9816]

    /// The codes of which Linux uses some for other failures.
    private static let appleKinds: [Int: Kind] = [
        NSURLErrorUnsupportedURL: .invalidRequest,
        NSURLErrorFileDoesNotExist: .invalidRequest,
        NSURLErrorFileIsDirectory: .invalidRequest,
        NSURLErrorNoPermissionsToReadFile: .invalidRequest,
        NSURLErrorBadServerResponse: .badResponse,
        NSURLErrorUserCancelledAuthentication: .security,
        NSURLErrorUserAuthenticationRequired: .security,
    ]

    /// The codes of `CFNetworkErrors` for proxy servers: SOCKS, and those from `kCFErrorHTTPProxyConnectionFailure` to
    /// `kCFErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod`.
    private static let proxyCodes = [100...124, 306...311]

    private static let kinds: [Int: Kind] = [
        NSURLErrorBadURL: .invalidRequest,
        NSURLErrorDataLengthExceedsMaximum: .invalidRequest,
        NSURLErrorCancelled: .connectionLost,
        NSURLErrorTimedOut: .timeout,
        NSURLErrorCannotFindHost: .hostNotFound,
        NSURLErrorDNSLookupFailed: .hostNotFound,
        NSURLErrorNotConnectedToInternet: .noNetwork,
        NSURLErrorInternationalRoamingOff: .noNetwork,
        NSURLErrorCallIsActive: .noNetwork,
        NSURLErrorDataNotAllowed: .noNetwork,
        NSURLErrorCannotConnectToHost: .cannotConnect,
        NSURLErrorNetworkConnectionLost: .connectionLost,
        NSURLErrorCannotDecodeRawData: .badResponse,
        NSURLErrorCannotDecodeContentData: .badResponse,
        NSURLErrorCannotParseResponse: .badResponse,
        NSURLErrorSecureConnectionFailed: .security,
        NSURLErrorServerCertificateHasBadDate: .security,
        NSURLErrorServerCertificateUntrusted: .security,
        NSURLErrorServerCertificateHasUnknownRoot: .security,
        NSURLErrorServerCertificateNotYetValid: .security,
        NSURLErrorClientCertificateRejected: .security,
        NSURLErrorClientCertificateRequired: .security,
        NSURLErrorAppTransportSecurityRequiresSecureConnection: .security,
    ]

    /// Parts of libcurl's messages, the most specific first; any other message is a lost connection.
    private static let texts: [(part: String, kind: Kind)] = [
        ("certificate", .security),
        ("SSL_connect", .cannotConnect),
        ("SSL_read", .connectionLost),
        ("SSL_write", .connectionLost),
        // OpenSSL's message about a handshake.
        ("SSL routines", .cannotConnect),
        ("unsupported URL", .invalidRequest),
        ("HTTP/0.9", .badResponse),
        ("Unsupported HTTP version", .badResponse),
        ("Failed writing header", .badResponse),
        ("Header without colon", .badResponse),
        ("Nul byte in header", .badResponse),
        ("Invalid Content-Length", .badResponse),
        ("Unsupported response code", .badResponse),
        ("content unencoding", .badResponse),
        ("content encoding", .badResponse),
        ("chunk", .badResponse),
        ("hexadecimal", .badResponse),
        ("Weird server reply", .badResponse),
        ("Out of memory", .responseTooLarge),
        ("larger than allowed", .responseTooLarge),
        ("Too large response header", .responseTooLarge),
    ]

    private static func kind(ofText text: String) -> Kind {
        texts.first { text.localizedCaseInsensitiveContains($0.part) }?.kind ?? .connectionLost
    }
}

extension NSError {
    fileprivate var isURLSessionCancellation: Bool { domain == NSURLErrorDomain && code == NSURLErrorCancelled }

    /// That of CFNetwork, which is more specific.
    fileprivate var streamCode: Int? {
        let errors = [self, userInfo[NSUnderlyingErrorKey] as? NSError]
        return errors.lazy.compactMap { ($0?.userInfo["_kCFStreamErrorCodeKey"] as? NSNumber)?.intValue }.first
    }
}
