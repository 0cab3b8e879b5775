import Foundation

/// The reason why an exchange has no complete response.
public struct TransportError: Error, Sendable {
    /// The kinds of failure.
    public enum Kind: Sendable, Hashable {
        /// The request is invalid; no byte was sent.
        case invalidRequest
        /// There is no route to the host; there may be no network.
        case noNetwork
        /// The host name has no address; it may be wrong, or there may be no network.
        case hostNotFound
        /// The connection was refused or could not be opened; no byte of the request was sent.
        case cannotConnect
        /// The connection ended before the response was complete.
        case connectionLost
        /// The response is not HTTP, contradicts itself, or is a redirect beyond the limit.
        case badResponse
        /// ``HTTPRequest/timeout``, ``HTTPRequest/deadline`` or ``TransportConfiguration/connectTimeout`` was exceeded.
        case timeout
        /// The server's certificate or key was refused, that of the client or an additional authority could not be loaded, or a
        /// redirect would have disclosed something secret.
        case security
        /// The response is larger than the request's limits or those of libcurl, or that of a proxy server to `CONNECT` is larger
        /// than 64 KiB.
        case responseTooLarge
        /// The response's file could not be written, or a file or stream to send could not be read to its end.
        ///
        /// The reason quotes the system's error, and shows the name of the file, or its length if the name may be secret. A file
        /// to send that is missing or unreadable before anything is sent is ``invalidRequest``.
        case storage
        /// The task was cancelled.
        case cancelled
    }

    private struct Details: Sendable {
        let reason: String
        let underlying: (any Error)?
        var timings: ExchangeTimings?
        var proxyStatus: Int?
    }

    // Boxed, because an asynchronous function reserves memory for each error that it may throw.
    @Boxed private var details: Details
    // The last member must not be a reference; see `APIError`.
    /// The kind of failure.
    public let kind: Kind

    /// A description of the failure, for logs; contains no secrets.
    public var reason: String { details.reason }
    /// The error that caused this one.
    public var underlying: (any Error)? { details.underlying }
    /// The durations of the phases until the failure; `nil` if nothing was measured.
    public var timings: ExchangeTimings? {
        get { details.timings }
        set { details.timings = newValue }
    }
    /// `nil` unless a proxy server has refused to connect to the server.
    var proxyStatus: Int? {
        get { details.proxyStatus }
        set { details.proxyStatus = newValue }
    }

    /// Creates an error.
    public init(_ kind: Kind, _ reason: String, underlying: (any Error)? = nil) {
        self.kind = kind
        details = Details(reason: reason, underlying: underlying)
    }
}

extension TransportError {
    func withKind(_ kind: Kind, reason: String) -> TransportError {
        var error = TransportError(kind, reason, underlying: underlying)
        (error.timings, error.proxyStatus) = (timings, proxyStatus)
        return error
    }

    static func noAddress(of request: HTTPRequest) -> String {
        "no address for the host \(request.url.host(percentEncoded: false) ?? "")"
    }
}

extension TransportError: RedactedDescription {
    /// The kind and the reason.
    public var description: String { "\(kind): \(reason)" }
}

extension String {
    /// For a message of libcurl, which quotes the URL of a proxy server, and cuts the text, maybe before the @.
    var mayHavePassword: Bool { contains("@") || contains("://") || utf8.count >= 250 }
}
