#if os(Linux)
import CurlRuntime
import Foundation

/// A transfer handle that is used for one exchange after the other, with the memory that libcurl writes to.
///
/// Used only on the loop's thread.
final class CurlHandle {
    let easy: CurlEasy
    private(set) var exchange: CurlExchange?
    private let errorText: UnsafeMutablePointer<CChar>
    private let connection: UnsafeMutablePointer<curlrt_connecting>
    /// Since 7.80.
    private let supportsPrereq: Bool
    /// `.max` when the exchange waits for no connection that another one opens.
    private(set) var connectionWaitEnd = MonotonicClock.Instant.max
    /// `.max` where libcurl ends what takes too long to connect.
    private var connectEnd = MonotonicClock.Instant.max
    private let settings: CurlSettings
    /// `nil` for a handle that starts no transfer.
    private let sockets: CurlSockets?
    /// Whether the target depends on the connection, which may lead to a proxy server.
    private var awaitsTarget = false
    /// Whether the connection that libcurl has chosen is of no use.
    private var hasStaleConnection = false
    let buffer: Buffer
    private static let errorCapacity = 256
    /// How long an exchange waits for a connection that another one opens, and the next one after that, in nanoseconds.
    ///
    /// A server that accepts and never responds would otherwise delay every exchange until the connect timeout. Twice the
    /// delay that RFC 8305 section 5 recommends between connection attempts, because a TLS handshake takes longer.
    private static let connectionDelay: Int64 = 500_000_000

    /// Sets what all exchanges share; throws when this libcurl rejects a setting of the configuration.
    init(_ settings: CurlSettings, sockets: CurlSockets? = nil, buffer: Buffer = .standard) throws(TransportError) {
        guard let easy = CurlEasy() else { throw TransportError(.cannotConnect, "libcurl has no memory") }
        self.easy = easy
        (self.settings, self.sockets, self.buffer) = (settings, sockets, buffer)
        errorText = .allocate(capacity: Self.errorCapacity)
        errorText.initialize(repeating: 0, count: Self.errorCapacity)
        if buffer != .standard { easy.set(.bufferSize, to: buffer.rawValue) }
        easy.set(.errorBuffer, to: UnsafeRawPointer(errorText))
        connection = .allocate(capacity: 1)
        connection.initialize(to: curlrt_connecting(sockets))
        curlrt_easy_observe_connecting(easy.pointer, connection)
        if !CurlLibrary.loadsAuthoritiesLate { curlrt_easy_observe_handshakes(easy.pointer, connection) }
        supportsPrereq = easy.setCallbacks()
        // Without the report of a connection, the bytes of a download would be counted as well.
        if supportsPrereq, settings.configuration.proxy.isPossible {
            curlrt_easy_limit_tunnel(easy.pointer, connection)
        }
        try easy.apply(settings)
        easy.setCallbackContext(UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }

    /// The size in bytes of what libcurl reads at a time, which a transfer keeps while it waits.
    enum Buffer: Int {
        /// Of event streams, of which many may be open (`kb_per_stream` of `events`).
        case small = 1_024
        /// That of libcurl.
        case standard = 16_384
        /// With which a large download takes a tenth less CPU time (`download`).
        case large = 262_144

        init(for request: HTTPRequest) {
            switch request.destination {
            case .file: self = .large
            case .stream(let sink) where sink.receiver.expectation == .large: self = .large
            // A libcurl (7.88) holds back what does not fit of a frame or the headers of HTTP/2 until something else arrives.
            case .stream(let sink)
            where sink.receiver.expectation == .sparse && request.url.scheme?.lowercased() != "https":
                self = .small
            default: self = .standard
            }
        }
    }

    deinit {
        curlrt_easy_free(easy.pointer)
        errorText.deallocate()
        connection.deallocate()
    }

    var usesUnixSocket: Bool { settings.configuration.unixSocketPath != nil }

    /// After an error, the transfer must not be started, and the handle has no exchange.
    func begin(_ exchange: CurlExchange) throws(TransportError) {
        try settings.configuration.proxy.checkEnvironment()
        // The last exchange may have had another server.
        if let identity = settings.configuration.tls.clientIdentity {
            try easy.setClientIdentity(identity.isAllowed(for: exchange.request.url) ? identity : nil)
        }
        if !settings.pinnedKeys.isEmpty { try easy.setPinnedPublicKeys(exchange.pins) }
        self.exchange = exchange
        hasStaleConnection = false
        errorText.pointee = 0
        connection.pointee = curlrt_connecting(sockets)
        easy.apply(exchange)
        easy.set(.httpVersion, to: httpVersion(for: exchange))
        let target = requestTarget(of: exchange)
        easy.set(.requestTarget, to: target)
        awaitsTarget = target == nil && CurlLibrary.reportsUsedProxy
        // For a connection that another request opens, which may carry both over HTTP/2. Before 7.80, libcurl does not report
        // that a request has been sent, so the wait could not be ended.
        let waits = supportsPrereq && exchange.url.isSecure
        easy.set(.pipeWait, to: waits ? 1 : 0)
        connectionWaitEnd = waits ? MonotonicClock.now + Self.connectionDelay : .max
        connectEnd =
            settings.limitsConnects
            ? MonotonicClock.now + settings.configuration.connectTimeout.clampedNanoseconds : .max
        // libcurl repeats requests only on connections that were used before.
        let mayReuse = (supportsPrereq || exchange.request.method.isIdempotent) && !exchange.needsNewConnection
        easy.set(.freshConnect, to: mayReuse ? 0 : 1)
    }

    /// Returns the HTTP version to offer.
    ///
    /// Before 7.80, libcurl does not report its attempts. A request that must not be repeated is then sent on a new
    /// connection. With HTTP/2, other requests could share that connection, and libcurl could repeat the request on it.
    ///
    /// A server with pinned keys is not offered HTTP/3, over which older versions of libcurl do not compare keys: before 8.7 with
    /// some libraries for TLS, before 8.14 with wolfSSL (CVE-2025-5025).
    func httpVersion(for exchange: CurlExchange) -> Int {
        guard supportsPrereq || exchange.request.method.isIdempotent else { return CurlValue.httpVersion1_1 }
        guard exchange.url.isSecure else { return CurlValue.httpVersion1_1 }
        let offersHTTP3 = settings.configuration.assumesHTTP3Capable && exchange.pins.isEmpty
        return offersHTTP3 ? CurlValue.httpVersion3 : CurlValue.httpVersion2TLS
    }

    /// Returns the target for the request line, which replaces the path from the URL: libcurl 8.23 changes the case of
    /// percent-encoded bytes there, which breaks signatures.
    ///
    /// `nil` where an HTTP proxy may need the whole URL, which libcurl sends unchanged; see ``beginAttempt(fromPort:)``.
    private func requestTarget(of exchange: CurlExchange) -> String? {
        exchange.url.isSecure || !settings.configuration.proxy.mayForwardRequests ? exchange.url.target : nil
    }

    /// Called before the request is sent on a connection; `false` ends the transfer.
    func beginAttempt(fromPort port: Int32) -> Bool {
        guard let exchange else { return false }
        hasStaleConnection = !isUsable(fromPort: port, for: exchange)
        guard !hasStaleConnection, exchange.beginAttempt() else { return false }
        // libcurl writes only the first one, which would be that of a connection before.
        errorText.pointee = 0
        // Another one may be as stale as the one whose loss repeats the request.
        if exchange.host?.isMultiplexed != true { easy.set(.freshConnect, to: 1) }
        connection.pointee.step = 0
        // The environment may exclude the host from the proxy. Before 8.7, libcurl does not report that, and keeps the path.
        if awaitsTarget, easy.number(.usedProxy) == 0 { easy.set(.requestTarget, to: exchange.url.target) }
        return true
    }

    /// Bytes before the request are not the response to it (RFC 9112 section 6.3); over HTTP/2, they are usual.
    private func isUsable(fromPort port: Int32, for exchange: CurlExchange) -> Bool {
        guard CurlLibrary.usesStaleConnections, exchange.attempts == 0, easy.number(.numConnects) == 0,
            !exchange.url.isSecure || exchange.host?.isMultiplexed == false
        else { return true }
        return sockets?.isSilent(fromPort: port) != false
    }

    /// Returns whether the transfer is to be started again, for which libcurl then opens a connection.
    func leaveStaleConnection() -> Bool {
        guard Swift.exchange(&hasStaleConnection, with: false) else { return false }
        exchange?.beginTransfer()
        easy.set(.freshConnect, to: 1)
        return true
    }

    /// Exchanges of one host end their wait one after the other, because the connection of the first one may carry all of them.
    ///
    /// Returns whether the transfer is to be started again, for which libcurl then opens a connection.
    func endConnectionWait(for host: CurlHost, at now: MonotonicClock.Instant) -> Bool {
        guard now >= connectionWaitEnd else { return false }
        connectionWaitEnd = .max
        guard let exchange, exchange.attempts == 0, connection.pointee.step == 0 else { return false }
        guard now >= host.nextConnection else {
            connectionWaitEnd = host.nextConnection
            return false
        }
        host.nextConnection = now + Self.connectionDelay
        exchange.beginTransfer()
        easy.set(.pipeWait, to: 0)
        return true
    }

    func isConnectOverdue(at now: MonotonicClock.Instant) -> Bool {
        guard now >= connectEnd else { return false }
        // Its connection may be lost, and libcurl open another one.
        connectEnd = now + settings.configuration.connectTimeout.clampedNanoseconds
        return !isConnected
    }

    var nextCheck: MonotonicClock.Instant { min(connectionWaitEnd, connectEnd) }

    /// Also removes the pointers into the memory of the exchange.
    func end() {
        exchange = nil
        easy.set(.httpHeader, to: nil)
        easy.set(.postFields, to: nil)
    }

    var isLookingUp: Bool { connection.pointee.step == curlrt_connecting_lookup }

    /// Through the tunnel of a proxy server if any.
    var isConnected: Bool {
        guard supportsPrereq else { return easy.size(.preTransferTime) ?? 0 > 0 }
        return exchange?.attempts ?? 0 > 0 && connection.pointee.step == 0
    }

    var sending: CurlSending? { isConnected ? sockets?.sending(fromPort: Int32(easy.number(.localPort))) : nil }

    var connecting: curlrt_connecting { connection.pointee }

    /// In nanoseconds; `nil` unless a connection is open but not ready.
    var roundTripTime: Int64? { sockets?.roundTripTime(of: connection.pointee.descriptor) }

    /// The transfer ends, without a connection, when its lookup does.
    func abandon() {
        exchange?.measure(on: self)
        connection.pointee.step = UInt8(curlrt_connecting_abandoned)
        easy.set(.connectTimeoutMS, to: Int(Int32.max))
        end()
    }

    /// libcurl counts the retries of all exchanges together, and reports the `errno` of a failed connect for later failures.
    ///
    /// A retry that could not open a connection is recognized only by the failure.
    func isReusable(after exchange: CurlExchange) -> Bool {
        guard supportsPrereq, !CurlLibrary.corruptsReusedHandles, easy.number(.osErrno) == 0 else { return false }
        return exchange.attempts == 0 || exchange.attempts == 1 && !exchange.hasFailed
    }

    /// Has libcurl's message where it helps.
    func error(_ code: CurlCode, of exchange: CurlExchange) -> TransportError {
        guard connection.pointee.tunnel_bytes <= curlrt_tunnel_limit else {
            let limit = "\(curlrt_tunnel_limit / 1_024) KiB"
            return TransportError(.responseTooLarge, "the proxy server's response to CONNECT is larger than \(limit)")
        }
        var error = libcurlError(code, of: exchange)
        error.proxyStatus = refusalStatus
        return error
    }

    /// `nil` unless a proxy server has refused a tunnel.
    private var refusalStatus: Int? {
        guard connection.pointee.step != 0 else { return nil }
        let status = easy.number(.httpConnectCode)
        return status >= 300 ? status : nil
    }

    private func libcurlError(_ code: CurlCode, of exchange: CurlExchange) -> TransportError {
        var kind = isServerRefused(exchange) ? .security : kind(of: code)
        // libcurl reports the code of a lost connection.
        if kind == .connectionLost, String(cString: errorText).contains("chunked-encoding") { kind = .badResponse }
        guard kind != .responseTooLarge else {
            let limit = "larger than libcurl's limit"
            guard exchange.received.hasBegun else {
                return TransportError(.invalidRequest, "the URL, or the header block of the request, is \(limit)")
            }
            return TransportError(kind, "a header line or the header block is \(limit)")
        }
        let finalKind = supportsPrereq ? kind.afterAttempts(exchange.attempts) : kind
        // For a malformed line of the server, libcurl reports a bad argument without a message.
        let isMalformed = kind == .invalidRequest && finalKind == .badResponse && errorText.pointee == 0
        return TransportError(finalKind, isMalformed ? "the response is malformed" : reason(code, of: exchange))
    }

    private func kind(of code: CurlCode) -> TransportError.Kind {
        // A name is looked up on a thread.
        if code == .couldntResolveHost, hasNoThread { return .cannotConnect }
        let hasOtherRoute = connection.pointee.hasRouteToOneOfSeveral
        return code.errorKind(osErrno: easy.number(.osErrno), hasOtherRoute: hasOtherRoute)
    }

    private var hasNoThread: Bool { String(cString: errorText).contains("thread failed to start") }

    /// Whether the server's certificate was refused over TCP after an attempt over HTTP/3: libcurl 8.23 returns the code of
    /// the first attempt, with the message of the second.
    private func isServerRefused(_ exchange: CurlExchange) -> Bool {
        guard settings.configuration.assumesHTTP3Capable, exchange.attempts == 0 else { return false }
        return String(cString: errorText).contains("certificate")
    }

    private func reason(_ code: CurlCode, of exchange: CurlExchange) -> String {
        guard code != .couldntResolveHost || hasNoThread else { return TransportError.noAddress(of: exchange.request) }
        var text = String(cString: errorText)
        let identity = settings.configuration.tls.clientIdentity
        for file in [identity?.certificate, identity?.privateKey].compactMap(\.self) {
            text = text.replacing(file.path, with: Redactor.fileName(of: file))
        }
        // A path may be cut off.
        let isCut = strlen(errorText) >= Self.errorCapacity - 1
        return text.isEmpty || isCut || text.mayHavePassword ? String(cString: curlrt_error_text(code.rawValue)) : text
    }
}

extension TransportError.Kind {
    fileprivate func afterAttempts(_ attempts: Int) -> TransportError.Kind {
        switch self {
        case .connectionLost where attempts == 0: .cannotConnect
        // The request has been sent, so libcurl rejects the server's response.
        case .invalidRequest where attempts > 0: .badResponse
        // The connection of libcurl's retry cannot be opened; the server may have processed the request before.
        case .noNetwork where attempts > 0, .hostNotFound where attempts > 0, .cannotConnect where attempts > 0:
            .connectionLost
        default: self
        }
    }
}
#endif
