#if os(Linux)
import Foundation

/// A transfer handle that serves one exchange after the other, with the memory that libcurl writes to.
///
/// It stays on the thread of its loop.
final class CurlHandle {
    let easy: CurlEasy
    /// The exchange that libcurl works for.
    private(set) var exchange: CurlExchange?
    private let errorText: UnsafeMutablePointer<CChar>
    private let isConnecting: UnsafeMutablePointer<Bool>
    private let hearsOfConnections: Bool
    private let proxy: TransportConfiguration.Proxy
    /// When to stop waiting for a connection that another exchange makes; `.max` for never.
    private(set) var patience = CurlClock.Instant.max
    private let identity: ClientIdentity?
    private static let errorCapacity = 256
    /// How long an exchange waits for a connection that another one makes, and how long the next one waits after that.
    ///
    /// A server that accepts and never answers would otherwise hold every exchange until the connect timeout. Twice the
    /// delay that RFC 8305 section 5 recommends between connection attempts, because a TLS handshake takes longer.
    static let connectionDelay: CurlClock.Instant = 500_000_000

    /// Makes a handle with everything that is the same for all exchanges of `configuration`.
    ///
    /// - Throws: ``TransportError/Kind/cannotConnect`` without memory; ``TransportError/Kind/invalidRequest`` when this
    ///   libcurl does not take what the configuration asks for.
    init(_ configuration: TransportConfiguration, _ trust: CurlTrust) throws(TransportError) {
        guard let easy = CurlEasy() else { throw TransportError(.cannotConnect, "libcurl has no memory") }
        self.easy = easy
        identity = configuration.tls.clientIdentity
        errorText = .allocate(capacity: Self.errorCapacity)
        errorText.initialize(repeating: 0, count: Self.errorCapacity)
        easy.set(.errorBuffer, UnsafeRawPointer(errorText))
        proxy = configuration.proxy
        isConnecting = .allocate(capacity: 1)
        isConnecting.initialize(to: false)
        easy.watchConnecting(isConnecting)
        hearsOfConnections = easy.setCallbacks()
        try easy.apply(configuration, trust)
        easy.setContext(UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }

    deinit {
        easy.free()
        errorText.deallocate()
        isConnecting.deallocate()
    }

    /// Prepares the transfer of `exchange`.
    func begin(_ exchange: CurlExchange) {
        self.exchange = exchange
        errorText.pointee = 0
        isConnecting.pointee = false
        easy.apply(exchange)
        easy.set(.httpVersion, httpVersion(for: exchange))
        easy.set(.requestTarget, requestTarget(of: exchange))
        let shares = mayWait(exchange)
        easy.set(.waitForMultiplex, shares ? 1 : 0)
        patience = shares ? CurlClock.now + Self.connectionDelay : .max
        // The handle may have served another origin; that libcurl takes the identity is known since the handle was made.
        if let identity { try? easy.present(identity.belongs(to: exchange.request.url) ? identity : nil) }
        // Only on a connection that was used before does libcurl send a request again.
        easy.set(.freshConnection, hearsOfConnections || exchange.request.method.isIdempotent ? 0 : 1)
    }

    /// The HTTP version to offer.
    ///
    /// Before 7.80, libcurl does not report its attempts. A request that must not be repeated then goes out on a new
    /// connection, which others may share, and thereby make one that libcurl repeats requests on, unless it is HTTP/1.1.
    private func httpVersion(for exchange: CurlExchange) -> Int {
        guard hearsOfConnections || exchange.request.method.isIdempotent else { return CurlValue.http1 }
        return exchange.isSecure ? CurlValue.http2OverTLS : CurlValue.http1
    }

    /// What the request line is to hold in place of the path that libcurl takes from the URL: libcurl 8.23 changes the case
    /// of percent-encoded bytes, which breaks signatures.
    ///
    /// `nil` where an HTTP proxy may need the whole URL instead, which libcurl sends as it is.
    private func requestTarget(of exchange: CurlExchange) -> String? {
        exchange.isSecure || !proxy.mayForwardRequests ? exchange.target : nil
    }

    /// Whether the request may wait for a connection that another one makes, because it may carry both over HTTP/2.
    ///
    /// Before 7.80, libcurl does not report that a request has gone out, so that nothing could end the wait.
    private func mayWait(_ exchange: CurlExchange) -> Bool {
        hearsOfConnections && exchange.isSecure
    }

    /// Whether libcurl waits for a connection that another exchange makes.
    var isWaiting: Bool {
        patience != .max && exchange?.attempts == 0 && !isConnecting.pointee
    }

    /// Postpones the end of the wait.
    func wait(until instant: CurlClock.Instant) {
        patience = instant
    }

    /// Makes libcurl open a connection for the exchange at its next start.
    func stopWaiting() {
        patience = .max
        easy.set(.waitForMultiplex, 0)
    }

    /// Lets go of the exchange.
    func end() {
        exchange = nil
        easy.set(.headers, nil)
        easy.set(.post, nil)
    }

    /// Whether the handle may serve another exchange; libcurl counts the retries of all of them together, and keeps the
    /// `errno` of a failed connect for the failures of later ones.
    ///
    /// A retry that found no connection shows in nothing but the failure.
    func isReusable(after exchange: CurlExchange) -> Bool {
        guard hearsOfConnections, easy.number(.systemError) == 0 else { return false }
        return exchange.attempts == 0 || exchange.attempts == 1 && !exchange.hasFailed
    }

    /// Why `exchange` failed, in libcurl's words where they help.
    func error(_ code: CurlCode, of exchange: CurlExchange) -> TransportError {
        let kind = code.kind(systemError: easy.number(.systemError))
        guard kind != .responseTooLarge else {
            return TransportError(kind, "a header line or the header block is larger than libcurl takes")
        }
        let finalKind = hearsOfConnections ? kind.after(exchange.attempts) : kind
        // Without a text of its own, libcurl calls the server's malformed line a bad argument.
        let isMalformed = kind == .invalidRequest && finalKind == .badResponse && errorText.pointee == 0
        return TransportError(finalKind, isMalformed ? "the answer is malformed" : reason(code, of: exchange))
    }

    private func reason(_ code: CurlCode, of exchange: CurlExchange) -> String {
        guard code != .hasNoAddress else { return TransportError.noAddress(of: exchange.request) }
        let text = String(cString: errorText)
        return text.isEmpty ? CurlLibrary.text(of: code.rawValue) : text
    }
}

extension TransportConfiguration.Proxy {
    /// Whether a request to an `http` URL may go to an HTTP proxy.
    fileprivate var mayForwardRequests: Bool {
        switch self {
        case .none: false
        case .url(let url): url.scheme?.lowercased().hasPrefix("socks") != true
        case .environment: Self.isSet("http_proxy") || Self.isSet("all_proxy") || Self.isSet("ALL_PROXY")
        }
    }

    private static func isSet(_ variable: String) -> Bool {
        getenv(variable).map { $0.pointee != 0 } == true
    }
}

extension TransportError.Kind {
    /// This kind as it is when the request has gone out so many times.
    fileprivate func after(_ attempts: Int) -> TransportError.Kind {
        switch self {
        case .connectionLost where attempts == 0: .cannotConnect
        // The server's answer is what libcurl rejects, for the request has gone out.
        case .invalidRequest where attempts > 0: .badResponse
        // What cannot be made is the connection of libcurl's retry; the server may have acted on the request before.
        case .noNetwork where attempts > 0, .hostNotFound where attempts > 0, .cannotConnect where attempts > 0:
            .connectionLost
        default: self
        }
    }
}
#endif
