import Foundation

/// A body whose streams are in temporary files, which are removed with this value.
struct StoredBody: ~Copyable {
    /// The pieces, without streams.
    private(set) var pieces: [HTTPBody.Piece] = []
    private var files: [URL] = []

    private init() {}

    deinit {
        for file in files { unlink(file.path) }
    }

    /// Reads the streams of `body` to their ends.
    ///
    /// - Throws: ``TransportError/Kind/storage`` when a stream failed or a file cannot be written;
    ///   ``TransportError/Kind/invalidRequest``; ``TransportError/Kind/cancelled``.
    static func make(of body: HTTPBody) async throws(TransportError) -> StoredBody {
        // Reports what cannot be sent, before a stream is read.
        _ = try HTTPBodyReader(body)
        var stored = StoredBody()
        for piece in body.pieces {
            guard case .stream(let stream) = piece else {
                stored.pieces.append(piece)
                continue
            }
            try await stored.append(stream)
        }
        return stored
    }

    private mutating func append(_ stream: HTTPBody.Stream) async throws(TransportError) {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        files.append(url)
        pieces.append(.file(url))
        do {
            let file = try FileDescriptor(opening: url.path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try await stream.readChecked { chunk in
                try chunk.withUnsafeBytes { try file.writeAll($0) }
            }
        } catch let error as SystemError {
            throw TransportError(cannotWrite: url, error)
        } catch {
            throw TransportError(ofStream: error)
        }
    }
}
