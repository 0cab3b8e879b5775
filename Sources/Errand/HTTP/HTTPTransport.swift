/// The interface to the network: sends a request and returns its answer.
///
/// A transport does not follow redirects, store or add cookies, or cache; it decodes content codings. It may send an
/// idempotent request again when its connection was lost before an answer began. It never sends any other request twice
/// that the server may have received. It applies the request's `timeout`, `deadline`, `limits` and `destination`, and ends
/// at once with ``TransportError/Kind/cancelled`` when the calling task is cancelled. After a failure, the caller removes the
/// file that is the destination.
///
/// A transport has no queue: it starts each request at once. A proxy sends as many at a time as ``capacity`` allows.
public protocol HTTPTransport: Sendable {
    /// How many exchanges a proxy may give to the transport at a time; ``TransportCapacity/init()`` by default.
    ///
    /// A transport that wraps another one returns that one's capacity, and keeps ``HTTPResponse/isMultiplexed`` of its answers.
    var capacity: TransportCapacity { get }

    /// Sends a request.
    ///
    /// Called by a proxy off the main actor, for several requests at a time.
    ///
    /// - Parameters:
    ///   - request: A request that has passed `HTTPRequest.validate()`.
    ///   - progress: Called on any thread, in order, while bytes are transferred; never after `send` has returned, nor for the
    ///     body of a redirect that ``HTTPRequest/redirectPolicy`` allows to follow.
    /// - Returns: The final (not 1xx) answer, whatever its status.
    /// - Throws: ``TransportError`` when there is no complete answer.
    func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError) -> HTTPResponse
}

extension HTTPTransport {
    /// The capacity of the platform's transport with its default configuration.
    public var capacity: TransportCapacity { TransportCapacity() }
}

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
    public static var unlimited: TransportCapacity {
        var capacity = TransportCapacity()
        capacity.connectionsPerHost = .max
        capacity.connections = .max
        capacity.streamsPerConnection = .max
        return capacity
    }
}

/// How much of an upload or a download is complete.
public struct TransferProgress: Sendable, Equatable {
    /// Receives progress; called on any thread and must not block.
    public typealias Handler = @Sendable (TransferProgress) -> Void

    /// The direction in which bytes are transferred.
    public enum Direction: Sendable {
        /// To the server.
        case upload
        /// From the server.
        case download
    }

    /// The direction in which the bytes are transferred.
    public let direction: Direction
    /// The bytes of the body that have been transferred.
    public let completedBytes: Int64
    /// The bytes of the whole body; `nil` when unknown.
    public let totalBytes: Int64?
    /// The try of the load that transfers them, 1 for the first one.
    ///
    /// The bytes count from 0 in each try: when a retry, or a new login, sends the request again.
    public internal(set) var attempt = 1

    /// Creates a report.
    public init(_ direction: Direction, completedBytes: Int64, totalBytes: Int64?) {
        self.direction = direction
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }

    /// The completed part, 0 to 1; `nil` when the total is unknown or 0.
    public var fractionCompleted: Double? {
        guard let totalBytes, totalBytes > 0 else { return nil }
        return min(1, Double(completedBytes) / Double(totalBytes))
    }
}
