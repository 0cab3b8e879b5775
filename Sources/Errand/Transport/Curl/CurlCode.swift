#if os(Linux)
import Foundation

/// The result of a transfer (`CURLcode`).
struct CurlCode: RawRepresentable, Hashable {
    let rawValue: Int32

    static let ok = CurlCode(rawValue: 0)

    /// Returns the kind of failure; `osErrno` is the `errno` of the last failed connect.
    func errorKind(osErrno: Int) -> TransportError.Kind {
        let isUnreachable = [ENETDOWN, ENETUNREACH, EHOSTUNREACH].contains(Int32(truncatingIfNeeded: osErrno))
        if self == .couldntConnect, isUnreachable { return .noNetwork }
        return Self.errorKinds[self] ?? .connectionLost
    }

    static let couldntResolveHost = code("COULDNT_RESOLVE_HOST", 6)
    private static let couldntConnect = code("COULDNT_CONNECT", 7)

    private static let errorKinds: [CurlCode: TransportError.Kind] = [
        code("UNSUPPORTED_PROTOCOL", 1): .badResponse,
        code("FAILED_INIT", 2): .cannotConnect,
        code("URL_MALFORMAT", 3): .invalidRequest,
        code("NOT_BUILT_IN", 4): .cannotConnect,
        code("COULDNT_RESOLVE_PROXY", 5): .hostNotFound,
        couldntResolveHost: .hostNotFound,
        couldntConnect: .cannotConnect,
        code("WEIRD_SERVER_REPLY", 8): .badResponse,
        // Also when a server closes an HTTP/2 connection.
        code("HTTP2", 16): .connectionLost,
        code("WRITE_ERROR", 23): .badResponse,
        code("READ_ERROR", 26): .storage,
        // Also for a header line above 100 KB.
        code("OUT_OF_MEMORY", 27): .responseTooLarge,
        code("OPERATION_TIMEDOUT", 28): .timeout,
        code("SSL_CONNECT_ERROR", 35): .cannotConnect,
        code("FUNCTION_NOT_FOUND", 41): .cannotConnect,
        code("BAD_FUNCTION_ARGUMENT", 43): .invalidRequest,
        code("INTERFACE_FAILED", 45): .cannotConnect,
        code("SSL_ENGINE_NOTFOUND", 53): .security,
        code("SSL_ENGINE_SETFAILED", 54): .security,
        code("SSL_CERTPROBLEM", 58): .security,
        code("SSL_CIPHER", 59): .security,
        code("PEER_FAILED_VERIFICATION", 60): .security,
        code("BAD_CONTENT_ENCODING", 61): .badResponse,
        code("FILESIZE_EXCEEDED", 63): .responseTooLarge,
        code("USE_SSL_FAILED", 64): .security,
        code("SSL_ENGINE_INITFAILED", 66): .security,
        code("SSL_CACERT_BADFILE", 77): .security,
        code("SSL_CRL_BADFILE", 82): .security,
        code("SSL_ISSUER_ERROR", 83): .security,
        code("NO_CONNECTION_AVAILABLE", 89): .cannotConnect,
        code("SSL_PINNEDPUBKEYNOTMATCH", 90): .security,
        code("SSL_INVALIDCERTSTATUS", 91): .security,
        code("HTTP2_STREAM", 92): .badResponse,
        code("PROXY", 97): .cannotConnect,
        code("SSL_CLIENTCERT", 98): .security,
        code("TOO_LARGE", 100): .responseTooLarge,
    ]

    /// The code `CURLE_` and `name`, which only documents the number.
    private static func code(_ name: String, _ number: Int32) -> CurlCode {
        CurlCode(rawValue: number)
    }
}
#endif
