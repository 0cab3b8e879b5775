#if os(Linux)
/// A number or text that libcurl reports for a transfer (`CURLINFO`), by its number in libcurl's ABI.
struct CurlInfo {
    let number: Int32

    /// The `errno` of the last failed connect (`CURLINFO_OS_ERRNO`).
    static let osErrno = CurlInfo(number: 0x20_0000 + 25)
    /// The HTTP version of the response, 0 for none (`CURLINFO_HTTP_VERSION`).
    static let httpVersion = CurlInfo(number: 0x20_0000 + 46)
    /// 1 if the connection leads to a proxy server, since 8.7 (`CURLINFO_USED_PROXY`).
    static let usedProxy = CurlInfo(number: 0x20_0000 + 66)
    /// The bytes of all requests of the transfer, and of some bodies; see ``CurlLibrary/countsBodiesOfRequests``
    /// (`CURLINFO_REQUEST_SIZE`).
    static let requestSize = CurlInfo(number: 0x20_0000 + 12)
    /// The status of the last response of a proxy server to `CONNECT`, 0 for none (`CURLINFO_HTTP_CONNECTCODE`).
    static let httpConnectCode = CurlInfo(number: 0x20_0000 + 22)
    /// How many connections the transfer has opened (`CURLINFO_NUM_CONNECTS`).
    static let numConnects = CurlInfo(number: 0x20_0000 + 26)
    /// The port of the server or the proxy server (`CURLINFO_PRIMARY_PORT`).
    static let primaryPort = CurlInfo(number: 0x20_0000 + 40)
    /// The port of this side of the connection (`CURLINFO_LOCAL_PORT`).
    static let localPort = CurlInfo(number: 0x20_0000 + 42)
    /// The address of the server or the proxy server, or the path of its socket (`CURLINFO_PRIMARY_IP`).
    static let primaryIP = CurlInfo(number: 0x10_0000 + 32)
}

/// A number of bytes, an identifier, or a time from the start of a transfer in microseconds that libcurl reports (`CURLINFO` of the
/// type `curl_off_t`), by its number in libcurl's ABI.
///
/// The times are sums over all requests of the transfer.
struct CurlSizeInfo {
    let number: Int32

    /// The bytes of the request's body that were sent, the framing of chunks included (`CURLINFO_SIZE_UPLOAD_T`).
    static let sizeUpload = CurlSizeInfo(number: 0x60_0000 + 7)
    /// The end (`CURLINFO_TOTAL_TIME_T`).
    static let totalTime = CurlSizeInfo(number: 0x60_0000 + 50)
    /// The end of the name lookup (`CURLINFO_NAMELOOKUP_TIME_T`).
    static let nameLookupTime = CurlSizeInfo(number: 0x60_0000 + 51)
    /// The connection (`CURLINFO_CONNECT_TIME_T`).
    static let connectTime = CurlSizeInfo(number: 0x60_0000 + 52)
    /// The start of the request (`CURLINFO_PRETRANSFER_TIME_T`).
    static let preTransferTime = CurlSizeInfo(number: 0x60_0000 + 53)
    /// The first byte of the response (`CURLINFO_STARTTRANSFER_TIME_T`).
    static let startTransferTime = CurlSizeInfo(number: 0x60_0000 + 54)
    /// The end of the TLS handshake (`CURLINFO_APPCONNECT_TIME_T`).
    static let appConnectTime = CurlSizeInfo(number: 0x60_0000 + 56)
    /// The identifier of the connection, since 8.2 (`CURLINFO_CONN_ID`).
    static let connectionID = CurlSizeInfo(number: 0x60_0000 + 64)
    /// The end of the request, since 8.10 (`CURLINFO_POSTTRANSFER_TIME_T`).
    static let postTransferTime = CurlSizeInfo(number: 0x60_0000 + 67)
}
#endif
