import Foundation

/// Reads a body from the first byte to the last, any number of times; used by one thread at a time.
package struct HTTPBodyReader: ~Copyable {
    /// Measured when the reader was created; `nil` when a stream has an unknown length.
    package let totalBytes: Int64?
    private let pieces: [(piece: HTTPBody.Piece, length: Int64?, file: ino_t?)]
    private var index = 0
    private var offset: Int64 = 0
    private var file: FileDescriptor?
    private var feed: HTTPBodyFeed?

    /// Throws `invalidRequest` for a missing file, and when the sum of the lengths is too large.
    package init(_ body: HTTPBody) throws(TransportError) {
        var pieces: [(HTTPBody.Piece, Int64?, ino_t?)] = []
        var totalBytes: Int64? = 0
        for piece in body.pieces {
            let (length, file) = try Self.length(of: piece)
            pieces.append((piece, length, file))
            guard let total = totalBytes, let length else {
                totalBytes = nil
                continue
            }
            let (sum, isTooLarge) = total.addingReportingOverflow(length)
            guard !isTooLarge else { throw TransportError(.invalidRequest, "the body has more than 2^63 - 1 bytes") }
            totalBytes = sum
        }
        (self.pieces, self.totalBytes) = (pieces, totalBytes)
    }

    deinit { feed?.cancel() }

    /// A stream is read from a new sequence.
    mutating func rewind() { move(to: 0) }

    mutating func stop() { move(to: pieces.count) }

    private mutating func move(to index: Int) {
        (self.index, offset) = (index, 0)
        file = nil
        feed?.cancel()
        feed = nil
    }

    /// Returns the number of bytes that were moved to `buffer`: 0 at the end, `nil` if those of a stream are not there yet.
    ///
    /// After `nil`, `ready` is called once, on any thread, when there are bytes or the end.
    package mutating func read(
        into buffer: UnsafeMutableRawBufferPointer,
        ready: @escaping @Sendable () -> Void = {}
    ) throws(TransportError) -> Int? {
        var filled = 0
        while filled < buffer.count, index < pieces.count {
            let (piece, length, _) = pieces[index]
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count: Int
            switch piece {
            case .data(let data):
                count = data.dropFirst(Int(offset)).copyBytes(to: rest)
            case .file(let url):
                let left = Int(clamping: (length ?? 0) - offset)
                count = left > 0 ? try copy(url, into: UnsafeMutableRawBufferPointer(rebasing: rest.prefix(left))) : 0
            case .stream(let stream):
                let feed = feed ?? HTTPBodyFeed(stream)
                self.feed = feed
                guard let read = try feed.read(into: rest, ready: ready) else { return filled == 0 ? nil : filled }
                guard read == 0 else { return filled + read }
                count = 0
            }
            offset += Int64(count)
            filled += count
            if count == 0 { move(to: index + 1) }
        }
        return filled
    }

    private mutating func copy(
        _ url: URL,
        into target: UnsafeMutableRawBufferPointer
    ) throws(TransportError) -> Int {
        let count: Int
        var isReplaced = false
        do throws(SystemError) {
            if file == nil {
                let opened = try FileDescriptor.regularFile(url)
                let status = try opened.status()
                // Of a file that is appended to, the bytes that there were are sent.
                isReplaced = status.st_ino != pieces[index].file && Int64(status.st_size) != pieces[index].length
                file = consume opened
            }
            count = try file?.fill(target) ?? 0
        } catch {
            guard error.number != EINVAL else {
                throw TransportError(.storage, "\(Redactor.fileName(of: url)) is no longer a regular file")
            }
            throw TransportError(.storage, cannotRead: url, error)
        }
        guard !isReplaced else {
            throw TransportError(.storage, "\(Redactor.fileName(of: url)) was replaced before it was sent")
        }
        guard count > 0 else {
            throw TransportError(.storage, "\(Redactor.fileName(of: url)) became shorter while it was sent")
        }
        return count
    }

    private static func length(of piece: HTTPBody.Piece) throws(TransportError) -> (Int64?, file: ino_t?) {
        switch piece {
        case .data(let data):
            return (Int64(data.count), nil)
        case .file(let url):
            guard url.isFileURL else {
                throw TransportError(.invalidRequest, "a file to send is not a file URL")
            }
            guard let status = stat(ofTarget: url.path), access(url.path, R_OK) == 0 else {
                throw TransportError(.invalidRequest, cannotRead: url, .last("open"))
            }
            guard status.isFile else {
                throw TransportError(.invalidRequest, "\(Redactor.fileName(of: url)) is not a regular file")
            }
            return (Int64(status.st_size), status.st_ino)
        case .stream(let stream):
            guard stream.length ?? 0 >= 0 else {
                throw TransportError(.invalidRequest, "the length of the stream is negative")
            }
            return (stream.length, nil)
        }
    }
}

extension TransportError {
    fileprivate init(_ kind: Kind, cannotRead url: URL, _ error: SystemError) {
        self.init(kind, "\(Redactor.fileName(of: url)) cannot be read (\(error.reason))", underlying: error)
    }
}

/// The bytes of a body stream between the task that reads the sequence and the thread that sends them.
///
/// Contains at most one element of the sequence, after small ones that are sent with it; the next one is requested when all bytes
/// have been read.
final class HTTPBodyFeed: Sendable {
    /// Until there are as many bytes, elements are joined while nothing has read them: each read is a write to the network.
    private static let smallBytes = 16_384

    private struct State: Sendable {
        var chunk = Data()
        var end: Result<Void, TransportError>?
        var ready: (@Sendable () -> Void)?
        var producer: CheckedContinuation<Void, Never>?
        var isCancelled = false
        var reading: Task<Void, Never>?
    }

    private let state = Lock(State())

    /// The owner calls ``cancel()`` when it needs no more bytes.
    init(_ stream: HTTPBody.Stream) {
        let reading = Task.detached { [self] in
            do {
                try await stream.readChecked { try await put($0) }
                finish(.success(()))
            } catch {
                finish(.failure(TransportError(ofStream: error)))
            }
        }
        state.withLock { $0.reading = reading }
    }

    /// Returns the number of bytes that were moved to `buffer`: 0 at the end, `nil` if they are not there yet.
    ///
    /// After `nil`, `ready` is called once, on any thread, when there are bytes or the end; not after ``cancel()``.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        ready: @escaping @Sendable () -> Void
    ) throws(TransportError) -> Int? {
        let (count, former) = state.withLock { state in
            let former = state
            let count = state.chunk.copyBytes(to: buffer)
            state.chunk = count < state.chunk.count ? state.chunk.dropFirst(count) : Data()
            if state.chunk.isEmpty { state.producer = nil }
            if count == 0, state.end == nil, !state.isCancelled { state.ready = ready }
            return (count, former)
        }
        if count == former.chunk.count { former.producer?.resume() }
        guard count == 0 else { return count }
        try former.end?.get()
        return former.end == nil ? nil : 0
    }

    /// Calls no code of the app before it returns.
    func cancel() {
        let former = state.withLock { state in
            let former = state
            (state.chunk, state.ready, state.producer, state.isCancelled) = (Data(), nil, nil, true)
            return former
        }
        guard former.end == nil, let reading = former.reading else { return }
        // The cancellation handlers of the sequence run in `cancel()`, and may block.
        DispatchQueue(label: "errand.stream").async {
            reading.cancel()
            former.producer?.resume()
        }
    }

    /// Waits until the element is read, if it is not small.
    private func put(_ chunk: Data) async throws {
        let (ready, isSmall) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
            guard !state.isCancelled else { return (nil, true) }
            if state.chunk.isEmpty { state.chunk = chunk } else { state.chunk.append(chunk) }
            return (exchange(&state.ready, with: nil), state.chunk.count < Self.smallBytes)
        }
        ready?()
        if !isSmall {
            await withCancellableContinuation(ifCancelled: ()) { continuation in
                state.withLock { state -> Void? in
                    guard !state.chunk.isEmpty else { return () }
                    state.producer = continuation
                    return nil
                }
            } remove: {
                state.withLock { exchange(&$0.producer, with: nil) }
            }
        }
        // The state is cancelled before the task.
        if state.withLock(\.isCancelled) { throw CancellationError() }
        try Task.checkCancellation()
    }

    private func finish(_ end: Result<Void, TransportError>) {
        let ready = state.withLock { state in
            state.end = end
            return exchange(&state.ready, with: nil)
        }
        ready?()
    }
}

extension TransportError {
    init(ofStream error: any Error) {
        switch error {
        case let error as HTTPBody.Stream.LengthError:
            let count = error.actual > error.expected ? "more than" : "\(error.actual) of"
            self.init(.storage, "the stream to send has \(count) \(error.expected) bytes", underlying: error)
        case is CancellationError where Task.isCancelled:
            self.init(.cancelled, "the task was cancelled")
        default:
            self.init(.storage, "the stream to send failed (\(type(of: error)))", underlying: error)
        }
    }
}
