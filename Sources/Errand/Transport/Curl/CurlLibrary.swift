#if os(Linux)
import CurlRuntime
import Foundation

/// The libcurl that is already loaded in the process, or else the system's, bound at run time.
enum CurlLibrary {
    static let unavailableReason: String? = curlrt_unavailable().map { String(cString: $0) }

    private static var info: curlrt_version? { curlrt_library_version()?.pointee }

    static var version: String { info.map { String(cString: $0.text) } ?? "" }

    /// 0xXXYYZZ.
    static var versionNumber: UInt32 { info?.number ?? 0 }

    /// Whether its library for TLS asks the user for the password of a key: OpenSSL and its forks do, GnuTLS does not.
    static let asksForPasswords = info?.tls_library.map { String(cString: $0).hasPrefix("GnuTLS") } != true

    static let reportsUsedProxy = versionNumber >= 0x08_0700

    /// Whether it sends requests on connections that were reset, or that have bytes that are part of no response; not since 8.0.
    static let usesStaleConnections = versionNumber < 0x08_0000

    /// Whether a handle writes to memory that it has freed, if the first header line after its first response begins with a
    /// space; from 7.83 to 8.1.
    static let corruptsReusedHandles = versionNumber >= 0x07_5300 && versionNumber < 0x08_0101

    /// Whether ``CurlInfo/requestSize`` counts all bytes of bodies; otherwise only those that are sent with the header lines.
    static let countsBodiesOfRequests = versionNumber >= 0x08_0700

    /// Whether it loads the certificates of authorities while it waits for that of the server, since 8.11; not if a handshake is
    /// observed, which that delays.
    static let loadsAuthoritiesLate = versionNumber >= 0x08_0B00

    /// Whether it supports HTTP/3 and falls back to other versions, since 7.88; `CURL_VERSION_HTTP3` of its features.
    static let supportsHTTP3 = versionNumber >= 0x07_5800 && (info?.features ?? 0) & 1 << 25 != 0

    /// The exit of the process waits for `body`; once the exit has begun, this does not return.
    static func performWork(_ body: () -> Void) {
        curlrt_enter()
        body()
        curlrt_leave()
    }

    /// On the calling thread: the signal would end the process at a write to a closed connection.
    static func blockSIGPIPE() {
        var signals = sigset_t()
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
#endif
