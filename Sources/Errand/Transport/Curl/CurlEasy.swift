#if os(Linux)
import CurlRuntime

/// A transfer handle of libcurl; used by one thread at a time.
struct CurlEasy {
    let pointer: OpaquePointer

    init?() {
        guard let pointer = curlrt_easy_make() else { return nil }
        self.pointer = pointer
    }

    func number(_ info: CurlInfo) -> Int { curlrt_easy_number(pointer, info.number) }

    /// `nil` when libcurl does not know it.
    func size(_ info: CurlSizeInfo) -> Int64? {
        let value = curlrt_easy_size(pointer, info.number)
        return value >= 0 ? value : nil
    }

    /// Empty when there is none.
    func text(_ info: CurlInfo) -> String { curlrt_easy_text(pointer, info.number).map { String(cString: $0) } ?? "" }

    /// Returns whether this libcurl has the option and accepts the number.
    @discardableResult
    func set(_ option: CurlOption<Int>, to value: Int) -> Bool {
        curlrt_easy_set_number(pointer, option.number, value) == 0
    }

    func set(_ option: CurlOption<Int64>, to value: Int64) { _ = curlrt_easy_set_size(pointer, option.number, value) }

    /// Returns whether this libcurl has the option and accepts the text, which it copies.
    @discardableResult
    func set(_ option: CurlOption<String>, to value: String?) -> Bool {
        curlrt_easy_set_pointer(pointer, option.number, value) == 0
    }

    /// The pointer must stay valid while it is set.
    func set(_ option: CurlOption<UnsafeRawPointer>, to value: UnsafeRawPointer?) {
        _ = curlrt_easy_set_pointer(pointer, option.number, value)
    }

    /// Calls the write callback that has paused the transfer before it returns.
    func resume() -> CurlCode { CurlCode(rawValue: curlrt_easy_resume(pointer)) }
}

extension curlrt_connecting {
    /// Before the first step.
    init(_ sockets: CurlSockets?) {
        self.init()
        (descriptor, self.sockets) = (-1, sockets?.pointer)
    }

    var hasRouteToOneOfSeveral: Bool { addresses > 1 && routes > 0 }
}

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
