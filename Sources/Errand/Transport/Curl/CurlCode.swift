#if os(Linux)
import Foundation

/// The result of a transfer (`CURLcode`).
struct CurlCode: RawRepresentable, Hashable {
    let rawValue: Int32

    static let ok = CurlCode(rawValue: 0)
    static let couldntResolveHost = CurlCode(rawValue: 6)
    private static let couldntConnect = CurlCode(rawValue: 7)
    static let abortedByCallback = CurlCode(rawValue: 42)
    static let badFunctionArgument = CurlCode(rawValue: 43)
    static let http2Stream = CurlCode(rawValue: 92)

    /// `osErrno` is the `errno` of the last failed connect, which says nothing of the addresses before.
    func errorKind(osErrno: Int, hasOtherRoute: Bool) -> TransportError.Kind {
        let isUnreachable = [ENETDOWN, ENETUNREACH, EHOSTUNREACH].contains(Int32(truncatingIfNeeded: osErrno))
        if self == .couldntConnect, isUnreachable, !hasOtherRoute { return .noNetwork }
        return Self.kinds.first { $0.codes.contains(rawValue) }?.kind ?? .connectionLost
    }

    /// The kinds of codes; every other code is a lost connection, also 16 (HTTP2), when a server closes the connection, and 92
    /// (HTTP2_STREAM), when a proxy server has lost that to the server behind it.
    private static let kinds: [(kind: TransportError.Kind, codes: Set<Int32>)] = [
        // COULDNT_RESOLVE_PROXY, COULDNT_RESOLVE_HOST
        (.hostNotFound, [5, 6]),
        // FAILED_INIT, NOT_BUILT_IN, COULDNT_CONNECT, SSL_CONNECT_ERROR, FUNCTION_NOT_FOUND, INTERFACE_FAILED,
        // NO_CONNECTION_AVAILABLE, PROXY
        (.cannotConnect, [2, 4, 7, 35, 41, 45, 89, 97]),
        // URL_MALFORMAT, BAD_FUNCTION_ARGUMENT
        (.invalidRequest, [3, 43]),
        // UNSUPPORTED_PROTOCOL, WEIRD_SERVER_REPLY, WRITE_ERROR, BAD_CONTENT_ENCODING
        (.badResponse, [1, 8, 23, 61]),
        // OUT_OF_MEMORY, also for a header line above 100 KB; FILESIZE_EXCEEDED, TOO_LARGE
        (.responseTooLarge, [27, 63, 100]),
        // READ_ERROR
        (.storage, [26]),
        // OPERATION_TIMEDOUT
        (.timeout, [28]),
        // SSL_ENGINE_NOTFOUND, SSL_ENGINE_SETFAILED, SSL_CERTPROBLEM, SSL_CIPHER, PEER_FAILED_VERIFICATION, USE_SSL_FAILED,
        // SSL_ENGINE_INITFAILED, SSL_CACERT_BADFILE, SSL_CRL_BADFILE, SSL_ISSUER_ERROR, SSL_PINNEDPUBKEYNOTMATCH,
        // SSL_INVALIDCERTSTATUS, SSL_CLIENTCERT
        (.security, [53, 54, 58, 59, 60, 64, 66, 77, 82, 83, 90, 91, 98]),
    ]
}
#endif
