import Foundation

extension TransportError {
    /// Creates an error from one of `URLSession`; on Linux, that often has an unspecific code and libcurl's message.
    ///
    /// The underlying error has the code and the message, but not the URL, whose query may contain secrets.
    init(urlSessionError error: NSError, of request: HTTPRequest) {
        let text = error.localizedDescription
        let safe = NSError(domain: error.domain, code: error.code, userInfo: [NSLocalizedDescriptionKey: text])
        let kind = Self.kinds[error.code] ?? Self.kind(ofText: text)
        self.init(kind, kind == .hostNotFound ? Self.noAddress(of: request) : text, underlying: safe)
    }

    private static let kinds: [Int: Kind] = [
        NSURLErrorBadURL: .invalidRequest,
        NSURLErrorDataLengthExceedsMaximum: .invalidRequest,
        NSURLErrorCancelled: .cancelled,
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
