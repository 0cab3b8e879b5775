public import Foundation

/// The body of a request: pieces from memory, files and streams, which are sent one after the other and can be read several
/// times.
public struct HTTPBody: Sendable, Hashable {
    /// One piece of a body.
    public enum Piece: Sendable, Hashable {
        /// These bytes.
        case data(Data)
        /// All bytes of this file.
        case file(URL)
        /// All bytes of a new sequence.
        case stream(Stream)
    }

    /// The pieces in the order in which they are sent; empty for a request without a body.
    public let pieces: [Piece]

    /// Creates a body from pieces.
    public init(_ pieces: [Piece]) {
        self.pieces = pieces
    }

    /// No body.
    public static let empty = HTTPBody([])

    /// Creates a body of these bytes; an empty `Data` is sent with `Content-Length: 0`.
    public static func data(_ data: Data) -> HTTPBody {
        HTTPBody([.data(data)])
    }

    /// Creates a body of the bytes of this file, which is read while it is sent.
    public static func file(_ url: URL) -> HTTPBody {
        HTTPBody([.file(url)])
    }

    /// Whether there is no body.
    package var isEmpty: Bool { pieces.isEmpty }
}
