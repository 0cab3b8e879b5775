/// A load that has begun and has not ended, for inspection.
public struct ActiveRequest: Sendable, Identifiable {
    /// What a load transfers.
    public enum Kind: Sendable {
        /// A response in memory.
        case data
        /// A multipart form, or a body with a file or a stream; not one that a custom serializer makes.
        case upload
        /// A response in a file.
        case download
        /// A response that streams.
        case stream
    }

    /// The load's ID.
    public let id: RequestID
    /// The request method.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
    /// What the load transfers.
    public let kind: Kind
    /// The priority of the load; see ``APIProxy/setPriority(_:of:)``.
    public let priority: RequestPriority
    /// Whether the load waits for its first turn.
    public let isQueued: Bool
    /// How much is transferred; `nil` for `data`, and before the first bytes.
    public let progress: TransferProgress?
    /// The mean rate of the last seconds, which falls while nothing is transferred; `nil` before there is one.
    public let bytesPerSecond: Double?
    /// Whether ``APIProxy/pauseRequest(_:)`` would pause the load.
    public let canPause: Bool
}
