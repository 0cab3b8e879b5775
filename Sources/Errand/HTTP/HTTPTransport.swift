/// The one seam to the network: sends a request and returns its answer.
///
/// A transport never follows redirects, never stores or adds cookies, never caches, and decodes content encodings. It may
/// send an idempotent request again when its connection died before an answer began; any other request that the server
/// may have seen is never sent twice. It honours the request's `timeout`, `deadline`, `limits` and `destination`, and
/// ends at once with ``TransportError/Kind/cancelled`` when the calling task is cancelled.
///
/// A transport does not queue: it starts each request at once. A proxy lets go as many as ``capacity`` allows.
public protocol HTTPTransport: Sendable {
    /// How many exchanges the transport carries well at a time; ``TransportCapacity/init()`` by default.
    var capacity: TransportCapacity { get }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: A request that has passed ``HTTPRequest/validate()``.
    ///   - progress: Called on any thread, in order, while bytes move; never after `send` has returned.
    /// - Returns: The final (not 1xx) answer, whatever its status.
    /// - Throws: ``TransportError`` when there is no complete answer.
    func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError) -> HTTPResponse
}

extension HTTPTransport {
    /// That of the platform's transport with its default configuration.
    public var capacity: TransportCapacity { TransportCapacity() }
}

/// How many exchanges a transport carries at a time.
public struct TransportCapacity: Sendable, Equatable {
    /// The connections to one host and port, each of which carries one exchange; 16 by default.
    public var connectionsPerHost = 16
    /// The connections in all; 128 by default.
    public var connections = 128
    /// The exchanges on one multiplexed connection (``HTTPResponse/isMultiplexed``); 100 by default.
    public var streamsPerConnection = 100

    /// Creates the default capacity.
    public init() {}

    /// As many exchanges as a proxy lets go; for a transport without connections.
    public static var unlimited: TransportCapacity {
        var capacity = TransportCapacity()
        capacity.connectionsPerHost = .max
        capacity.connections = .max
        return capacity
    }
}

/// How far an upload or a download has come.
public struct TransferProgress: Sendable, Equatable {
    /// Takes progress; it is called on any thread and must not block.
    public typealias Handler = @Sendable (TransferProgress) -> Void

    /// Which way the bytes move.
    public enum Direction: Sendable {
        /// To the server.
        case upload
        /// From the server.
        case download
    }

    /// Which way the bytes move.
    public let direction: Direction
    /// The bytes of the body that have moved.
    public let completedBytes: Int64
    /// The bytes of the whole body, where that is known.
    public let totalBytes: Int64?

    /// Creates a report.
    public init(_ direction: Direction, completedBytes: Int64, totalBytes: Int64?) {
        self.direction = direction
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }

    /// The part that is done, 0 to 1, where the whole is known.
    public var fractionCompleted: Double? {
        guard let totalBytes, totalBytes > 0 else { return nil }
        return min(1, Double(completedBytes) / Double(totalBytes))
    }
}
