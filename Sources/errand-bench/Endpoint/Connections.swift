import Errand

/// The number of connections that each compared client may open: at least the bench's requests in flight, so that none
/// of them waits in a queue.
enum Connections {
    /// The number of connections.
    static let limit = 512

    /// The limits of a proxy that admits as many requests.
    static let limits = QueueLimits(perHost: limit, total: limit)

    /// Creates a transport that may open this many connections.
    static func transport() throws -> any HTTPTransport {
        var configuration = TransportConfiguration()
        configuration.connectionsPerHost = limit
        configuration.connections = limit
        return try SystemTransport(configuration)
    }
}
