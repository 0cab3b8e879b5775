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
    private let hearsOfConnections: Bool
    private let identity: ClientIdentity?
    private static let errorCapacity = 256

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
        hearsOfConnections = easy.setCallbacks()
        try easy.apply(configuration, trust)
        easy.setContext(UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }

    deinit {
        easy.free()
        errorText.deallocate()
    }

    /// Prepares the transfer of `exchange`.
    func begin(_ exchange: CurlExchange) {
        self.exchange = exchange
        errorText.pointee = 0
        easy.apply(exchange)
        easy.set(.httpVersion, httpVersion(for: exchange.request))
        // Only on a connection that was used before does libcurl send a request again.
        easy.set(.freshConnection, hearsOfConnections || exchange.request.method.isIdempotent ? 0 : 1)
    }

    /// The HTTP version to offer.
    ///
    /// Before 7.80, libcurl does not report its attempts. A request that must not be repeated then goes out on a new
    /// connection, which others may share, and thereby make one that libcurl repeats requests on, unless it is HTTP/1.1.
    private func httpVersion(for request: HTTPRequest) -> Int {
        guard hearsOfConnections || request.method.isIdempotent else { return CurlValue.http1 }
        return request.url.scheme?.lowercased() == "https" ? CurlValue.http2OverTLS : CurlValue.http1
    }

    /// Lets go of the exchange.
    func end() {
        exchange = nil
        easy.set(.headers, nil)
        easy.set(.post, nil)
    }

    /// Whether the handle may serve another exchange; libcurl counts the retries of all of them together.
    ///
    /// A retry that found no connection shows in nothing but the failure.
    func isReusable(after exchange: CurlExchange) -> Bool {
        hearsOfConnections && (exchange.attempts == 0 || exchange.attempts == 1 && !exchange.hasFailed)
    }

    /// Why `exchange` failed, in libcurl's words where they help.
    func error(_ code: CurlCode, of exchange: CurlExchange) -> TransportError {
        let kind = code.kind(systemError: easy.number(.systemError))
        guard kind != .responseTooLarge else {
            return TransportError(kind, "a header line or the header block is larger than libcurl takes")
        }
        let finalKind = hearsOfConnections ? kind.after(exchange.attempts) : kind
        guard errorText.pointee == 0 else { return TransportError(finalKind, String(cString: errorText)) }
        // Without a text of its own, libcurl calls the server's malformed line a bad argument.
        let isMalformed = kind == .invalidRequest && finalKind == .badResponse
        return TransportError(finalKind, isMalformed ? "the answer is malformed" : CurlLibrary.text(of: code.rawValue))
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
        case .noNetwork where attempts > 0, .cannotConnect where attempts > 0: .connectionLost
        default: self
        }
    }
}
#endif
