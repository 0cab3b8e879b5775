/// The type of a load's failure, by which a screen decides what to do.
public enum APIErrorType: String, Sendable, CaseIterable {
    /// The request cannot be created: it has no service, or its parameters were refused or cannot be encoded.
    ///
    /// Usually nothing was sent, but the closures of a service and adapters may fail a load that was sent before.
    case invalidRequest
    /// There is no route to the host, or its name has no address while ``APIProxy/reachability`` is `unreachable`.
    ///
    /// Also without sending, with ``APIRequestOptions/failsWhenUnreachable``.
    case noNetwork
    /// No byte was transferred for ``BaseAPIRequest/timeout``, or ``APIRequestOptions/deadline`` passed.
    ///
    /// On Linux also when no connection was ready within ``TransportConfiguration/connectTimeout``.
    case timeout
    /// The login has expired and could not be renewed.
    case loginExpired
    /// The envelope or the ``APIService/failureReader`` reports a failure, usually with a business code.
    case server
    /// The server responded with a status that is neither 2xx nor one of ``APIRequestOptions/acceptedStatuses``.
    case http
    /// The validator or a digest refused the response, or its list was edited too often.
    case invalidResponse
    /// The response does not have the format that the request expects.
    case decoding
    /// The response is larger than the service allows.
    case responseTooLarge
    /// A certificate, a pinned key, a redirect, a URL of another origin or a sealed response was refused.
    case security
    /// The disk failed, or another load writes the file: the response's file could not be written, or a file to send could not be
    /// read to its end.
    ///
    /// Also reported if an ``HTTPBody/Stream`` to send failed, or its length was not the stated one.
    ///
    /// Usual causes are a full disk, a missing folder, and a missing permission; ``APIError/reason`` quotes the system's error, and
    /// shows the name of the file, or its length if the name may be secret. If a file to send is missing when the load begins, the
    /// type is `invalidRequest`, because nothing was sent. Problems with cookie files fail no load; see ``APIProxy/onError``.
    case storage
    /// The connection could not be opened or was lost, or the response is malformed or has too many redirects.
    case transport
    /// The load was cancelled.
    case cancelled
}

extension APIErrorType {
    var message: String {
        switch self {
        case .invalidRequest: "The request could not be made."
        case .noNetwork: "There is no network connection."
        case .timeout: "The server took too long to respond."
        case .loginExpired: "Please sign in again."
        case .server: "The server refused the request."
        case .http: "The server could not handle the request."
        case .invalidResponse: "There is nothing to show."
        case .decoding: "The server's response could not be understood."
        case .responseTooLarge: "The server's response is too large."
        case .security: "The connection is not secure."
        case .storage: "A file could not be saved or read on this device."
        case .transport: "The connection to the server failed."
        case .cancelled: "The request was cancelled."
        }
    }
}
