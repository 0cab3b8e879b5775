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

extension HTTPBody {
    /// Bytes that an asynchronous sequence produces while they are sent.
    ///
    /// ```swift
    /// let body = HTTPBody.stream(length: 1_000_000) { recording.chunks() }
    /// ```
    ///
    /// Each attempt reads a new sequence: also a retry, the attempt after a relogin, and a redirect that keeps the body. The next
    /// element is requested when the previous one has been handed to the connection; small ones, of less than 16 KiB together, are
    /// handed to it together if they are ready. If an attempt ends early, the task that reads the sequence is cancelled but not
    /// awaited. The old sequence may therefore still be running when the next one is created, so sequences must not share a
    /// position, such as that of one `FileHandle`.
    ///
    /// The load fails with `storage` if the sequence throws, or if its number of bytes is not ``length``. The connection is then
    /// closed, so that the server does not accept the incomplete body as complete. The load fails with `timeout` if the sequence
    /// produces no bytes for longer than the timeout of the request, even if it produces empty elements.
    public struct Stream: Sendable, Hashable {
        /// The number of bytes, sent as `Content-Length`; `nil` if it is unknown, which HTTP/1.1 sends in chunks, as libcurl does
        /// with 0.
        public let length: Int64?
        /// Reads a new sequence to its end.
        let read: @Sendable (_ consume: (Data) async throws -> Void) async throws -> Void
        private let identity = Identity()

        /// Creates a stream.
        ///
        /// - Parameters:
        ///   - length: The number of bytes; `nil`, the default, if it is unknown. The last bytes are sent when the sequence has
        ///     ended, because only then it is certain that there are no more.
        ///   - makeSequence: Returns a sequence of all bytes, starting at the first. Called on any thread, for each attempt.
        ///     Throw an error if the bytes cannot be read again.
        public init<Chunks: AsyncSequence & SendableMetatype>(
            length: Int64? = nil,
            _ makeSequence: @escaping @Sendable () throws -> Chunks
        ) where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
            self.length = length
            read = { consume in
                for try await chunk in try makeSequence() {
                    // Also for an empty element: a sequence may ignore the cancellation and have no other elements.
                    try Task.checkCancellation()
                    if !chunk.isEmpty { try await consume(chunk) }
                }
            }
        }

        /// Whether both are copies of one stream.
        public static func == (lhs: Stream, rhs: Stream) -> Bool { lhs.identity === rhs.identity }

        /// Hashes the identity of the stream.
        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }

        private final class Identity: Sendable {}
    }

    /// Creates a body from asynchronous sequences of bytes, one for each attempt; see ``Stream``.
    ///
    /// - Parameters:
    ///   - length: The number of bytes; `nil`, the default, if it is unknown.
    ///   - makeSequence: Returns a sequence of all bytes, from the first; called at each send.
    /// - Returns: The body.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil,
        _ makeSequence: @escaping @Sendable () throws -> Chunks
    ) -> HTTPBody where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        HTTPBody([.stream(Stream(length: length, makeSequence))])
    }

    var isStreamed: Bool { pieces.contains(where: \.isStream) }
    package var isInMemory: Bool { pieces.allSatisfy { $0.data != nil } }
}

extension HTTPBody.Stream: RedactedDescription {
    /// The number of bytes, if it is known.
    public var description: String { length.map { "stream of \($0) bytes" } ?? "stream" }
}

extension HTTPBody.Piece {
    var data: Data? {
        if case .data(let data) = self { data } else { nil }
    }

    var isStream: Bool {
        if case .stream = self { true } else { false }
    }
}

extension HTTPBody.Stream {
    struct LengthError: Error {
        let expected: Int64
        /// At least this many, if there were too many.
        let actual: Int64
    }

    /// `consume` receives the last element of a stream with a length when the sequence has ended.
    package func readChecked(_ consume: (Data) async throws -> Void) async throws {
        var (count, last) = (Int64(0), Data?.none)
        try await read { chunk in
            count += Int64(chunk.count)
            guard let length else { return try await consume(chunk) }
            guard count <= length else { throw LengthError(expected: length, actual: count) }
            if count < length { try await consume(chunk) } else { last = chunk }
        }
        // A cancelled sequence may end like a complete one.
        try Task.checkCancellation()
        if let length, count != length { throw LengthError(expected: length, actual: count) }
        if let last { try await consume(last) }
    }
}
