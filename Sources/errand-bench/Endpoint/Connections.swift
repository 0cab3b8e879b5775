import Errand

/// The connections that each of the compared may open: as many as the bench has requests in flight, so that all of them
/// are on the wire and none waits in line.
enum Connections {
    /// How many.
    static let limit = 512

    /// Limits of a proxy that does not make them wait either.
    static let limits = QueueLimits(perHost: limit, total: limit)

    /// A transport that may open so many.
    static func transport() throws -> any HTTPTransport {
        #if os(Linux)
        var configuration = TransportConfiguration()
        configuration.connectionsPerHost = limit
        configuration.connections = limit
        return try CurlTransport(configuration)
        #else
        return DefaultTransport.make()
        #endif
    }
}
