#if os(Linux)
/// Takes received bytes, or fills a buffer with bytes to send; answers with a number of bytes.
typealias CurlTransferFunction =
    @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int

/// Moves to a position in the body that is sent; answers 0 when done, 1 to end the transfer.
typealias CurlSeekFunction = @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int32

/// Hears that a connection is ready for the request; answers 0 to go on, 1 to end the transfer.
typealias CurlReadyFunction =
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?, Int32, Int32
    ) -> Int32

/// One option of a transfer: its name and number in libcurl's ABI and the type of its value.
struct CurlOption<Value> {
    /// The name behind `CURLOPT_`.
    let name: String
    /// The number, which is the same in every version.
    let number: Int32

    init(_ name: String, _ number: Int32) {
        self.name = name
        self.number = number
    }
}

extension CurlOption where Value == Int {
    static var acceptHTTP09: Self { Self("HTTP09_ALLOWED", 285) }
    static var contentDecoding: Self { Self("HTTP_CONTENT_DECODING", 158) }
    static var connectTimeout: Self { Self("CONNECTTIMEOUT_MS", 156) }
    static var freshConnection: Self { Self("FRESH_CONNECT", 74) }
    static var get: Self { Self("HTTPGET", 80) }
    static var httpVersion: Self { Self("HTTP_VERSION", 84) }
    static var idleConnectionAge: Self { Self("MAXAGE_CONN", 288) }
    static var leaveResolver: Self { Self("QUICK_EXIT", 322) }
    static var noBody: Self { Self("NOBODY", 44) }
    static var noSignal: Self { Self("NOSIGNAL", 99) }
    static var pathAsIs: Self { Self("PATH_AS_IS", 234) }
    static var protocols: Self { Self("PROTOCOLS", 181) }
    static var suppressConnectHeaders: Self { Self("SUPPRESS_CONNECT_HEADERS", 265) }
    static var tlsVersion: Self { Self("SSLVERSION", 32) }
    static var upload: Self { Self("UPLOAD", 46) }
    static var waitForMultiplex: Self { Self("PIPEWAIT", 237) }
}

extension CurlOption where Value == Int64 {
    static var postSize: Self { Self("POSTFIELDSIZE_LARGE", 30120) }
    static var uploadSize: Self { Self("INFILESIZE_LARGE", 30115) }
}

extension CurlOption where Value == String {
    static var acceptEncoding: Self { Self("ACCEPT_ENCODING", 10102) }
    static var certificateAuthorityDirectory: Self { Self("CAPATH", 10097) }
    static var certificateAuthorityFile: Self { Self("CAINFO", 10065) }
    static var clientCertificate: Self { Self("SSLCERT", 10025) }
    static var clientCertificateType: Self { Self("SSLCERTTYPE", 10086) }
    static var clientKey: Self { Self("SSLKEY", 10087) }
    static var clientKeyPassword: Self { Self("KEYPASSWD", 10026) }
    static var method: Self { Self("CUSTOMREQUEST", 10036) }
    static var pinnedPublicKeys: Self { Self("PINNEDPUBLICKEY", 10230) }
    static var proxy: Self { Self("PROXY", 10004) }
    static var requestTarget: Self { Self("REQUEST_TARGET", 10266) }
    static var unixSocketPath: Self { Self("UNIX_SOCKET_PATH", 10231) }
    static var url: Self { Self("URL", 10002) }
}

extension CurlOption where Value == UnsafeRawPointer {
    static var context: Self { Self("PRIVATE", 10103) }
    static var errorBuffer: Self { Self("ERRORBUFFER", 10010) }
    static var headerContext: Self { Self("HEADERDATA", 10029) }
    static var headers: Self { Self("HTTPHEADER", 10023) }
    static var post: Self { Self("POSTFIELDS", 10015) }
    static var readContext: Self { Self("READDATA", 10009) }
    static var readyContext: Self { Self("PREREQDATA", 10313) }
    static var seekContext: Self { Self("SEEKDATA", 10168) }
    static var writeContext: Self { Self("WRITEDATA", 10001) }
}

extension CurlOption where Value == CurlTransferFunction {
    static var header: Self { Self("HEADERFUNCTION", 20079) }
    static var read: Self { Self("READFUNCTION", 20012) }
    static var write: Self { Self("WRITEFUNCTION", 20011) }
}

extension CurlOption where Value == CurlSeekFunction {
    static var seek: Self { Self("SEEKFUNCTION", 20167) }
}

extension CurlOption where Value == CurlReadyFunction {
    static var ready: Self { Self("PREREQFUNCTION", 20312) }
}

/// Values of options, by their numbers in libcurl's ABI.
enum CurlValue {
    /// `http` and `https`.
    static let webProtocols = 1 | 2
    /// HTTP/1.1 alone.
    static let http1 = 2
    /// HTTP/2, as ``CurlInfo/httpVersion`` reports it.
    static let http2 = 3
    /// HTTP/2 over TLS where the server offers it, HTTP/1.1 otherwise.
    static let http2OverTLS = 4
    /// TLS 1.2 or later.
    static let tls1_2 = 6
    /// TLS 1.3 or later.
    static let tls1_3 = 7
}

/// One option of a set of transfers, by its number in libcurl's ABI.
enum CurlMultiOption: Int32 {
    /// How many connections are kept open without a transfer (`CURLMOPT_MAXCONNECTS`).
    case keptConnections = 6
}

/// One number that a transfer knows, by its number in libcurl's ABI.
struct CurlInfo {
    let number: Int32

    /// The `errno` of the last failed connect (`CURLINFO_OS_ERRNO`).
    static let systemError = CurlInfo(number: 0x20_0000 + 25)
    /// The HTTP version of the answer, 0 for none (`CURLINFO_HTTP_VERSION`).
    static let httpVersion = CurlInfo(number: 0x20_0000 + 46)
}
#endif
