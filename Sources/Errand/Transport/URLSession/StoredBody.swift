import Foundation

/// A body of which a part is in temporary files, which are removed with this value: its streams on Linux, and the whole body on
/// Apple's platforms.
struct StoredBody: ~Copyable {
    private static let bufferBytes = 65_536

    private(set) var pieces: [HTTPBody.Piece] = []
    private var files: [URL] = []

    init() {}

    deinit {
        for file in files { unlink(file.path) }
    }

    /// Reads what is stored of the body of `request` to its end, within its deadline and its timeout, which each element of a
    /// stream that is not empty restarts.
    ///
    /// A sequence that ignores the cancellation of its task is not waited for.
    ///
    /// - Throws: ``TransportError/Kind/storage`` when a stream failed or a file cannot be written;
    ///   ``TransportError/Kind/invalidRequest``; ``TransportError/Kind/timeout``; ``TransportError/Kind/cancelled``.
    // Not on the actor of the caller, which the copying of a file would hold up.
    @concurrent static func make(of request: HTTPRequest) async throws(TransportError) -> StoredBody {
        // Reports what cannot be sent, before a stream is read.
        _ = try HTTPBodyReader(request.body)
        let progress = StoringProgress(ExchangeDeadlines(request))
        defer { progress.timer.stop() }
        var stored = StoredBody()
        try await stored.storeParts(of: request.body, progress)
        return stored
    }

    /// Stores the parts of `body` that a session cannot read itself.
    private mutating func storeParts(of body: HTTPBody, _ progress: StoringProgress) async throws(TransportError) {
        #if canImport(FoundationNetworking)
        for piece in body.pieces {
            if piece.isStream { try await store(HTTPBody([piece]), progress) } else { pieces.append(piece) }
        }
        #else
        // Untested. A session reads the length before the bytes, and the file of the app could change between them: a clone
        // (`clonefile(2)`) takes neither time nor space, and where the volume has none, the bytes are copied.
        if body.pieces.count == 1, case .file(let file) = body.pieces[0] {
            let clone = Self.temporaryFile()
            if Self.clone(file.path, to: clone.path) { return append(temporary: clone) }
        }
        try await store(body, progress)
        #endif
    }

    #if canImport(Darwin)
    /// Clones a file, without its flags, of which one prevents that it is removed, and its mode; `false` when it cannot.
    private static func clone(_ file: String, to clone: String) -> Bool {
        guard clonefile(file, clone, 0) == 0 else { return false }
        // Without its flag, a file that the volume stores compressed has no bytes.
        if chflags(clone, 0) == 0, chmod(clone, 0o600) == 0,
            let size = stat(ofTarget: file)?.st_size, stat(ofTarget: clone)?.st_size == size
        {
            return true
        }
        unlink(clone)
        return false
    }
    #endif

    private mutating func append(temporary file: URL) {
        files.append(file)
        pieces.append(.file(file))
    }

    private static func temporaryFile() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(String.uniqueName)")
    }

    mutating func store(_ body: HTTPBody, _ progress: StoringProgress) async throws(TransportError) {
        let url = Self.temporaryFile()
        append(temporary: url)
        // Stops the sequence when it is destroyed.
        var reader = try HTTPBodyReader(body)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferBytes, alignment: 1)
        defer { buffer.deallocate() }
        do {
            let file = try FileDescriptor(opening: url.path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            while true {
                try progress.check()
                guard let count = try reader.read(into: buffer, ready: { progress.resume() }) else {
                    await progress.wait()
                    continue
                }
                guard count > 0 else { return }
                progress.timer.restartTimeout()
                try file.writeAll(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        } catch let error as SystemError {
            throw TransportError(cannotWrite: url, error)
        } catch {
            throw error as? TransportError ?? TransportError(ofStream: error)
        }
    }
}

/// Whether there are bytes to store, and whether the deadlines allow to wait for them.
final class StoringProgress: Sendable {
    private let failure = Lock<TransportError?>(nil)
    let timer: ExchangeTimer
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init(_ deadlines: ExchangeDeadlines) {
        timer = ExchangeTimer(deadlines)
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        timer.start { [weak self] in self?.fail($0) }
    }

    func check() throws(TransportError) {
        if Task.isCancelled { throw TransportError(.cancelled, "the task was cancelled") }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Ends a wait, on any thread, because there are bytes or their end.
    func resume() { signal.yield() }

    private func fail(_ error: TransportError) {
        failure.withLock { $0 = error }
        signal.finish()
    }

    /// Waits until ``resume()`` is called, or was called before, a deadline has passed, or the task is cancelled.
    func wait() async {
        for await _ in signals { return }
    }
}
