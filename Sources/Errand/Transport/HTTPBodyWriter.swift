import Foundation

/// Takes the bytes of one answer, into memory up to its limit or into a file; used by one thread at a time.
///
/// The file appears under its name at ``finish()`` and not before: until then the bytes stand in a temporary file beside
/// it, which goes when the writer goes.
struct HTTPBodyWriter: ~Copyable {
    private(set) var body = Data()
    private var partial: (handle: FileHandle, temporary: URL, target: URL)?
    private let limit: Int

    /// Makes ready for the body of an answer with `status`.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` when `expected` already tells so;
    ///   ``TransportError/Kind/file`` when the file cannot be made.
    init(_ request: HTTPRequest, status: Int, expected: Int64?) throws(TransportError) {
        limit = request.limits.bodyBytes
        guard case .file(let target) = request.destination, (200..<300).contains(status) else {
            if let expected, expected > Int64(limit) { throw Self.tooLarge(limit) }
            return
        }
        let temporary = target.deletingLastPathComponent()
            .appendingPathComponent(".\(target.lastPathComponent).\(UUID().uuidString).part")
        do {
            try Data().write(to: temporary, options: .withoutOverwriting)
            partial = (try FileHandle(forWritingTo: temporary), temporary, target)
        } catch {
            throw TransportError(.file, "\(target.lastPathComponent) cannot be written", underlying: error)
        }
    }

    deinit {
        guard let partial else { return }
        try? FileManager.default.removeItem(at: partial.temporary)
    }

    /// Adds decoded bytes.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` or ``TransportError/Kind/file``.
    mutating func append(_ bytes: some DataProtocol) throws(TransportError) {
        guard let partial else {
            guard bytes.count <= limit - body.count else { throw Self.tooLarge(limit) }
            body.append(contentsOf: bytes)
            return
        }
        do {
            try partial.handle.write(contentsOf: bytes)
        } catch {
            throw TransportError(.file, "\(partial.target.lastPathComponent) cannot be written", underlying: error)
        }
    }

    /// Ends the body: puts the file in its place, where there is one, and returns it.
    mutating func finish() throws(TransportError) -> URL? {
        guard let partial else { return nil }
        do {
            try partial.handle.close()
            guard rename(partial.temporary.path, partial.target.path) == 0 else {
                throw CocoaError(.fileWriteUnknown)
            }
        } catch {
            throw TransportError(.file, "\(partial.target.lastPathComponent) cannot be written", underlying: error)
        }
        self.partial = nil
        return partial.target
    }

    private static func tooLarge(_ limit: Int) -> TransportError {
        TransportError(.responseTooLarge, "the body is larger than \(limit) bytes")
    }
}
