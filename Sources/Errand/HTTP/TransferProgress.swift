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
    /// The bytes of the body that have been received, or given to the connection.
    public let completedBytes: Int64
    /// The bytes of the whole body; `nil` when unknown.
    public let totalBytes: Int64?
    /// The number of the load's attempt that transfers the bytes, starting at 1.
    ///
    /// The bytes count from 0 in each attempt, also for a retry and after a relogin, except for a download that continues: its
    /// bytes count from the beginning of the file. Those of an upload count from 0 again also after a redirect, and when its
    /// connection was lost before the server had read it.
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
