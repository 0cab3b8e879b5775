#if os(Linux)
import CurlRuntime

/// One option of a transfer (`CURLoption`): its name and number in libcurl's ABI, and the type of its value.
struct CurlOption<Value> {
    /// Without `CURLOPT_`.
    let name: String
    /// The same in every version.
    let number: Int32

    init(_ name: String, _ number: Int32) {
        self.name = name
        self.number = number
    }
}

extension CurlOption where Value == Int {
    static var bufferSize: Self { Self("BUFFERSIZE", 98) }
    static var connectTimeoutMS: Self { Self("CONNECTTIMEOUT_MS", 156) }
    static var forbidReuse: Self { Self("FORBID_REUSE", 75) }
    static var freshConnect: Self { Self("FRESH_CONNECT", 74) }
    static var http09Allowed: Self { Self("HTTP09_ALLOWED", 285) }
    static var httpContentDecoding: Self { Self("HTTP_CONTENT_DECODING", 158) }
    static var httpGet: Self { Self("HTTPGET", 80) }
    static var httpVersion: Self { Self("HTTP_VERSION", 84) }
    static var maxAgeConn: Self { Self("MAXAGE_CONN", 288) }
    static var noBody: Self { Self("NOBODY", 44) }
    static var noSignal: Self { Self("NOSIGNAL", 99) }
    static var pathAsIs: Self { Self("PATH_AS_IS", 234) }
    static var pipeWait: Self { Self("PIPEWAIT", 237) }
    static var protocols: Self { Self("PROTOCOLS", 181) }
    static var proxySSLVersion: Self { Self("PROXY_SSLVERSION", 250) }
    static var quickExit: Self { Self("QUICK_EXIT", 322) }
    static var sslVersion: Self { Self("SSLVERSION", 32) }
    static var suppressConnectHeaders: Self { Self("SUPPRESS_CONNECT_HEADERS", 265) }
    static var upload: Self { Self("UPLOAD", 46) }
}

extension CurlOption where Value == Int64 {
    static var inFileSizeLarge: Self { Self("INFILESIZE_LARGE", 30115) }
    static var postFieldSizeLarge: Self { Self("POSTFIELDSIZE_LARGE", 30120) }
}

extension CurlOption where Value == String {
    static var acceptEncoding: Self { Self("ACCEPT_ENCODING", 10102) }
    static var caInfo: Self { Self("CAINFO", 10065) }
    static var caPath: Self { Self("CAPATH", 10097) }
    static var customRequest: Self { Self("CUSTOMREQUEST", 10036) }
    static var keyPasswd: Self { Self("KEYPASSWD", 10026) }
    static var noProxy: Self { Self("NOPROXY", 10177) }
    static var pinnedPublicKey: Self { Self("PINNEDPUBLICKEY", 10230) }
    static var proxy: Self { Self("PROXY", 10004) }
    static var proxyCAInfo: Self { Self("PROXY_CAINFO", 10246) }
    static var proxyCAPath: Self { Self("PROXY_CAPATH", 10247) }
    static var requestTarget: Self { Self("REQUEST_TARGET", 10266) }
    static var sslCert: Self { Self("SSLCERT", 10025) }
    static var sslCertType: Self { Self("SSLCERTTYPE", 10086) }
    static var sslKey: Self { Self("SSLKEY", 10087) }
    static var unixSocketPath: Self { Self("UNIX_SOCKET_PATH", 10231) }
    static var url: Self { Self("URL", 10002) }
}

extension CurlOption where Value == UnsafeRawPointer {
    static var errorBuffer: Self { Self("ERRORBUFFER", 10010) }
    static var headerData: Self { Self("HEADERDATA", 10029) }
    static var httpHeader: Self { Self("HTTPHEADER", 10023) }
    static var postFields: Self { Self("POSTFIELDS", 10015) }
    static var prereqData: Self { Self("PREREQDATA", 10313) }
    static var `private`: Self { Self("PRIVATE", 10103) }
    static var readData: Self { Self("READDATA", 10009) }
    static var seekData: Self { Self("SEEKDATA", 10168) }
    static var writeData: Self { Self("WRITEDATA", 10001) }
}

/// A function, whose type depends on the option.
enum CurlFunction {}

extension CurlOption where Value == CurlFunction {
    static var headerFunction: Self { Self("HEADERFUNCTION", 20079) }
    static var prereqFunction: Self { Self("PREREQFUNCTION", 20312) }
    static var readFunction: Self { Self("READFUNCTION", 20012) }
    static var seekFunction: Self { Self("SEEKFUNCTION", 20167) }
    static var writeFunction: Self { Self("WRITEFUNCTION", 20011) }
}

enum CurlValue {
    /// Never the number of bytes given to a write callback.
    static let writeError = -1
    /// `CURL_WRITEFUNC_PAUSE`: the callback gets the bytes again; and `CURL_READFUNC_PAUSE`.
    static let pause = 0x1000_0001
    /// `CURL_READFUNC_ABORT`.
    static let readAbort = 0x1000_0000
    static let protocolsHTTPAndHTTPS = 1 | 2
    static let httpVersion1_0 = 1
    static let httpVersion1_1 = 2
    /// As ``CurlInfo/httpVersion`` reports HTTP/2.
    static let httpVersion2_0 = 3
    /// HTTP/3 where the server responds over it, an older version otherwise.
    static let httpVersion3 = 30
    /// HTTP/2 over TLS where the server supports it, HTTP/1.1 otherwise.
    static let httpVersion2TLS = 4
    /// The oldest version.
    static let sslVersionTLSv1_2 = 6
    /// The oldest version.
    static let sslVersionTLSv1_3 = 7
}

/// One option of a set of transfers (`CURLMoption`), by its number in libcurl's ABI.
enum CurlMultiOption {
    /// How many connections are kept open without a transfer (`CURLMOPT_MAXCONNECTS`).
    static let maxConnects: Int32 = 6
    /// How many threads look up names, since 8.20 (`CURLMOPT_RESOLVE_THREADS_MAX`).
    static let resolveThreadsMax: Int32 = 20
}
#endif
