#if os(Linux)
/// A number or text that libcurl reports for a transfer (`CURLINFO`), by its number in libcurl's ABI.
struct CurlInfo {
    let number: Int32

    static let osErrno = CurlInfo(number: 0x20_0000 + 25)
    /// 0 for none.
    static let httpVersion = CurlInfo(number: 0x20_0000 + 46)
    /// 1 if the connection leads to a proxy server, since 8.7.
    static let usedProxy = CurlInfo(number: 0x20_0000 + 66)
    /// The bytes of all requests of the transfer, and of some bodies; see ``CurlLibrary/countsBodiesOfRequests``.
    static let requestSize = CurlInfo(number: 0x20_0000 + 12)
    /// The status of the last response of a proxy server to `CONNECT`, 0 for none.
    static let httpConnectCode = CurlInfo(number: 0x20_0000 + 22)
    /// How many connections the transfer has opened.
    static let numConnects = CurlInfo(number: 0x20_0000 + 26)
    /// That of the server or the proxy server.
    static let primaryPort = CurlInfo(number: 0x20_0000 + 40)
    static let localPort = CurlInfo(number: 0x20_0000 + 42)
    /// That of the server or the proxy server, or the path of its socket.
    static let primaryIP = CurlInfo(number: 0x10_0000 + 32)
}

/// A number of bytes, an identifier, or a time from the start of a transfer in microseconds that libcurl reports (`CURLINFO` of the
/// type `curl_off_t`), by its number in libcurl's ABI.
///
/// The times are sums over all requests of the transfer.
struct CurlSizeInfo {
    let number: Int32

    /// The framing of chunks included.
    static let sizeUpload = CurlSizeInfo(number: 0x60_0000 + 7)
    static let totalTime = CurlSizeInfo(number: 0x60_0000 + 50)
    static let nameLookupTime = CurlSizeInfo(number: 0x60_0000 + 51)
    static let connectTime = CurlSizeInfo(number: 0x60_0000 + 52)
    /// The start of the request.
    static let preTransferTime = CurlSizeInfo(number: 0x60_0000 + 53)
    /// The first byte of the response.
    static let startTransferTime = CurlSizeInfo(number: 0x60_0000 + 54)
    /// The end of the TLS handshake.
    static let appConnectTime = CurlSizeInfo(number: 0x60_0000 + 56)
    /// Since 8.2.
    static let connectionID = CurlSizeInfo(number: 0x60_0000 + 64)
    /// The end of the request, since 8.10.
    static let postTransferTime = CurlSizeInfo(number: 0x60_0000 + 67)
}
#endif
