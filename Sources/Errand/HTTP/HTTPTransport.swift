/// The interface to the network: sends a request and returns its response.
///
/// A transport decodes content codings, but does not follow redirects, handle cookies, or cache. It may send an idempotent
/// request again if the connection was lost before a response began; it must never send any other request twice that the server
/// may have received. It applies the request's `timeout`, `deadline`, `limits` and `destination`, and throws
/// ``TransportError/Kind/cancelled`` at once when the calling task is cancelled. After a failure, the caller removes the
/// destination file.
///
/// A transport has no queue: it starts each request at once. A proxy sends only as many requests at a time as ``capacity``
/// allows.
public protocol HTTPTransport: Sendable {
    /// How many exchanges a proxy may give to the transport at a time; ``TransportCapacity/init()`` by default.
    ///
    /// A transport that wraps another transport must return the capacity of that transport, and keep
    /// ``HTTPResponse/isMultiplexed`` of its responses.
    var capacity: TransportCapacity { get }

    /// Sends a request.
    ///
    /// Called by a proxy off the main actor, for several requests at a time.
    ///
    /// - Parameters:
    ///   - request: A request whose method, URL and header lines the proxy has checked.
    ///   - progress: Called on any thread, in order, while bytes are transferred; never after `send` has returned, nor for the
    ///     body of a redirect that ``HTTPRequest/redirectPolicy`` allows to follow.
    /// - Returns: The final (not 1xx) response, whatever its status.
    /// - Throws: ``TransportError`` when there is no complete response.
    func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError) -> HTTPResponse
}

extension HTTPTransport {
    /// The capacity of the platform's transport with its default configuration.
    public var capacity: TransportCapacity { TransportCapacity() }
}
