#if os(Linux)
import Foundation

/// The transport of Linux: the libcurl that is already loaded in the process, on one thread.
///
/// - It supports HTTP/1.1 with persistent connections and HTTP/2 over TLS, for `http` and `https` URLs.
/// - There is no queue: the limits of ``TransportConfiguration`` are its ``capacity``, which a proxy applies.
/// - Requests to one `https` host wait half a second for a connection that another request opens, because HTTP/2 can carry
///   all of them; then the next request opens another connection.
/// - Bodies in gzip, deflate, Brotli and Zstandard are decoded; the header lines are not changed. A body in an unknown
///   content coding is not decoded. A truncated body, an unknown transfer coding and more than two codings are errors, but not
///   of a redirect that is followed, whose body is dropped: up to 64 KB, or half a second, keep its connection.
/// - The progress of a download counts decoded bytes; the total is known when the response states its length and is not coded.
/// - When a persistent connection is lost before a response begins, an idempotent request is sent again, and so is one that
///   an HTTP/2 server refused to process. Any other request is sent once and fails with
///   ``TransportError/Kind/connectionLost``.
/// - `Content-Length`, `Transfer-Encoding` and `Host` among a request's header lines are ignored.
/// - A server that does not let libcurl return, with data without an end that is part of no response, loses its connection after
///   about 300 ms; the other requests continue. A proxy server's response to `CONNECT` has at most 64 KiB, counted since libcurl
///   7.80.
/// - libcurl limits a header line to 100 KB, and newer versions limit a header block to 300 KB and 5,000 lines, even where the
///   request's limits are higher.
package final class CurlTransport: HTTPTransport, HeadReporting {
    /// The limits of the configuration, and 100 exchanges on an HTTP/2 connection.
    package let capacity: TransportCapacity
    private let settings: CurlSettings
    /// Made for the first request.
    private let loop = Lock<CurlLoop?>(nil)

    /// Requests fail with ``TransportError/Kind/cannotConnect`` while the process has no descriptors or memory for libcurl.
    ///
    /// Throws `cannotConnect` when there is no libcurl 7.76 or later, and `invalidRequest` for a setting that is invalid, or that
    /// this libcurl cannot apply.
    package convenience init(
        _ configuration: TransportConfiguration = TransportConfiguration()
    ) throws(TransportError) {
        if let reason = CurlLibrary.unavailableReason { throw TransportError(.cannotConnect, reason) }
        let settings = try CurlSettings(configuration)
        // Reports settings that this libcurl rejects.
        _ = try CurlHandle(settings)
        self.init(settings)
    }

    init(_ settings: CurlSettings) {
        self.settings = settings
        capacity = TransportCapacity(of: settings.configuration)
    }

    deinit {
        loop.withLock { $0 }?.stop()
    }
    package static var unavailableReason: String? { CurlLibrary.unavailableReason }

    package func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        try request.validate()
        let pins = try settings.pinnedKeys.keys(for: request.url)
        let exchange = try CurlExchange(request, pins: pins, progress: progress)
        let loop = try startedLoop()
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                exchange.continuation = continuation
                loop.submit(exchange)
            }
        } onCancel: {
            loop.cancel(exchange)
        }
        return try exchange.response()
    }

    private func startedLoop() throws(TransportError) -> CurlLoop {
        // Under the lock: concurrent requests would each make one, and use up the descriptors.
        try loop.withLock { (loop) throws(TransportError) in
            if let loop { return loop }
            guard let made = CurlLoop(settings) else { throw TransportError(.cannotConnect, "libcurl cannot start") }
            loop = made
            return made
        }
    }
}

/// The checked configuration of a transport, with what is made of it once.
struct CurlSettings: Sendable {
    // Boxed, because each handle has a copy.
    @Boxed var configuration: TransportConfiguration
    let caBundle: CurlCABundle
    let pinnedKeys: PinnedKeys
    /// Whether the loop ends what takes too long to connect: before 7.87, libcurl would wait for the name lookup to end.
    var limitsConnects = CurlLibrary.versionNumber < 0x07_5700

    init() {
        (pinnedKeys, caBundle) = (PinnedKeys(), CurlCABundle())
        configuration = TransportConfiguration()
        configuration.proxy = configuration.proxy.read()
    }

    /// Also reads the additional authorities.
    init(_ configuration: TransportConfiguration) throws(TransportError) {
        try configuration.validateForCurl()
        pinnedKeys = try PinnedKeys(configuration.tls.pinnedPublicKeys)
        caBundle = try CurlCABundle(configuration.tls)
        self.configuration = configuration
        // libcurl uses none for a socket.
        self.configuration.proxy = configuration.unixSocketPath == nil ? configuration.proxy.read() : .none
        try self.configuration.proxy.checkEnvironment()
    }
}

extension TransportConfiguration.Proxy {
    private static let variables = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// Returns `none` for an environment without a proxy server, which libcurl would search for before each request.
    fileprivate func read() -> Self {
        guard case .environment = self else { return self }
        return Self.variables.contains { Self.server(in: $0) != nil } ? self : .none
    }

    /// Throws for a server of the environment that libcurl would not use.
    func checkEnvironment() throws(TransportError) {
        guard case .environment = self else { return }
        for variable in Self.variables where Self.server(in: variable).map(Self.hasControlCharacter) == true {
            throw .refusal(of: "proxy", "the user or the password of \(variable) has a control character")
        }
    }

    var isPossible: Bool {
        if case .none = self { false } else { true }
    }

    var mayForwardRequests: Bool {
        switch self {
        case .none: false
        case .url(let url): url.scheme?.lowercased().hasPrefix("socks") != true
        case .environment: ["http_proxy", "all_proxy", "ALL_PROXY"].contains { Self.server(in: $0) != nil }
        }
    }

    private static func server(in variable: String) -> String? {
        getenv(variable).flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
    }
}
#endif
