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
    /// - Returns: The final (not 1xx) response, whatever its status. The body of a redirect that is followed need not be complete,
    ///   nor decoded.
    /// - Throws: ``TransportError`` when there is no complete response.
    func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError) -> HTTPResponse
}

extension HTTPTransport {
    /// The capacity of the platform's transport with its default configuration.
    public var capacity: TransportCapacity { TransportCapacity() }
}

/// A transport that calls ``HTTPRequest/didReceiveHead`` with the heads that it returns; one that wraps another may change them.
package protocol HeadReporting: HTTPTransport {}

/// How many exchanges a transport can carry at a time.
public struct TransportCapacity: Sendable, Equatable {
    /// The connections to one host and port, each of which carries one exchange; 16 by default.
    public var connectionsPerHost = 16
    /// The connections in all; 128 by default.
    public var connections = 128
    /// The exchanges on one multiplexed connection (``HTTPResponse/isMultiplexed``); 100 by default.
    public var streamsPerConnection = 100

    /// Creates the default capacity.
    public init() {}

    /// No limits; for a transport without connections, such as one for tests.
    package static var unlimited: TransportCapacity {
        var capacity = TransportCapacity()
        capacity.connectionsPerHost = .max
        capacity.connections = .max
        capacity.streamsPerConnection = .max
        return capacity
    }
}
