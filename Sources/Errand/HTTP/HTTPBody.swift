public import Foundation

/// What a request sends: pieces from memory and from files, streamed one after the other and readable again.
public struct HTTPBody: Sendable, Hashable {
    /// One piece of a body.
    public enum Piece: Sendable, Hashable {
        /// These bytes.
        case data(Data)
        /// All bytes of this file.
        case file(URL)
    }

    /// The pieces in the order of sending; none is a request without a body.
    public let pieces: [Piece]

    /// Creates a body from pieces.
    public init(_ pieces: [Piece]) {
        self.pieces = pieces
    }

    /// No body.
    public static let empty = HTTPBody([])

    /// A body of these bytes; also none at all, which is sent as `Content-Length: 0`.
    public static func data(_ data: Data) -> HTTPBody {
        HTTPBody([.data(data)])
    }

    /// A body of the bytes of this file, which is read while it is sent.
    public static func file(_ url: URL) -> HTTPBody {
        HTTPBody([.file(url)])
    }

    /// Whether there is no body.
    public var isEmpty: Bool { pieces.isEmpty }
}
