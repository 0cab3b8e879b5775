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
