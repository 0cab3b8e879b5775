#if os(Linux)
import Foundation

/// How a transfer ended according to libcurl (`CURLcode`), as far as it tells kinds of failure apart.
struct CurlCode: RawRepresentable, Hashable {
    let rawValue: Int32

    static let success = CurlCode(rawValue: 0)

    /// The kind of failure that the layers above tell apart; `systemError` is the `errno` of the last failed connect.
    func kind(systemError: Int) -> TransportError.Kind {
        let isUnreachable = [ENETDOWN, ENETUNREACH, EHOSTUNREACH].contains(Int32(truncatingIfNeeded: systemError))
        if self == .couldNotConnect, isUnreachable { return .noNetwork }
        return Self.kinds[self] ?? .connectionLost
    }

    static let hasNoAddress = named("could not resolve host", 6)
    private static let couldNotConnect = CurlCode(rawValue: 7)

    private static let kinds: [CurlCode: TransportError.Kind] = [
        named("unsupported protocol", 1): .badResponse,
        named("failed init", 2): .cannotConnect,
        named("malformed URL", 3): .invalidRequest,
        named("not built in", 4): .cannotConnect,
        named("could not resolve proxy", 5): .hostNotFound,
        hasNoAddress: .hostNotFound,
        couldNotConnect: .cannotConnect,
        named("weird server reply", 8): .badResponse,
        named("HTTP/2 framing, also the end of a connection that a server leaves", 16): .connectionLost,
        named("write error", 23): .badResponse,
        named("read error", 26): .storage,
        named("out of memory, also for a header line above 100 KB", 27): .responseTooLarge,
        named("timed out", 28): .timeout,
        named("TLS handshake", 35): .cannotConnect,
        named("function not found", 41): .cannotConnect,
        named("bad function argument", 43): .invalidRequest,
        named("interface failed", 45): .cannotConnect,
        named("TLS engine not found", 53): .security,
        named("TLS engine cannot be set", 54): .security,
        named("client certificate", 58): .security,
        named("cipher", 59): .security,
        named("peer's certificate", 60): .security,
        named("bad content coding", 61): .badResponse,
        named("file size exceeded", 63): .responseTooLarge,
        named("TLS required and not there", 64): .security,
        named("TLS engine cannot start", 66): .security,
        named("authorities cannot be read", 77): .security,
        named("revocation list", 82): .security,
        named("issuer", 83): .security,
        named("no connection available", 89): .cannotConnect,
        named("pinned public key", 90): .security,
        named("certificate status", 91): .security,
        named("HTTP/2 stream", 92): .badResponse,
        named("proxy", 97): .cannotConnect,
        named("client certificate required", 98): .security,
        named("too large", 100): .responseTooLarge,
    ]

    private static func named(_ name: String, _ number: Int32) -> CurlCode {
        CurlCode(rawValue: number)
    }
}
#endif
