import Errand

/// Assembles requests from the bytes of one connection, in whatever pieces they arrive.
struct RequestAssembler: ~Copyable {
    /// The result of reading the bytes so far.
    enum Progress {
        case incomplete
        /// No more of the body may be read until this gate opens.
        case paused(Gate)
        /// A head is complete; ``begin(_:handling:)`` must be called before its body is read.
        case head(RequestHead)
        /// The request that was begun is complete.
        case complete(RecordedRequest)
    }

    private enum State {
        case head
        case fixed(Int64)
        case chunked(ChunkedDecoder)
    }

    private let headLimit: Int
    private var state = State.head
    private var request: RecordedRequest?
    private var collector = BodyCollector(.discard)
    private var scanned = 0

    init(headLimit: Int) {
        self.headLimit = headLimit
    }

    /// Whether a body has begun and is not complete.
    var isInsideBody: Bool { request != nil }

    /// Whether the body waits for a gate.
    var isPaused: Bool { collector.gate != nil }

    /// Starts to read the body of `request`, whose head has just been read.
    mutating func begin(_ request: RecordedRequest, handling: BodyHandling) {
        self.request = request
        collector = BodyCollector(handling)
        switch request.head.framing {
        case .length(let length): state = .fixed(length)
        case .chunked: state = .chunked(ChunkedDecoder())
        }
    }

    /// Reads the unread bytes of `input` up to the next event.
    mutating func advance(_ input: inout InputBuffer) throws(MalformedRequest) -> Progress {
        switch state {
        case .head: try readHead(&input)
        case .fixed(let remaining): readBody(&input, remaining)
        case .chunked(let decoder): try readBody(&input, decoder)
        }
    }

    private mutating func readHead(_ input: inout InputBuffer) throws(MalformedRequest) -> Progress {
        if scanned == 0 { input.dropEmptyLines() }
        guard let end = input.endOfHead(from: scanned) else {
            scanned = max(0, input.count - 3)
            guard input.count <= headLimit else { throw MalformedRequest("the head is too large", status: 431) }
            return .incomplete
        }
        guard end <= headLimit else { throw MalformedRequest("the head is too large", status: 431) }
        scanned = 0
        let head = try input.withUnread { bytes throws(MalformedRequest) in
            try RequestHeadParser.parse(bytes.slice(0..<end))
        }
        input.consume(end)
        return .head(head)
    }

    private mutating func readBody(_ input: inout InputBuffer, _ remaining: Int64) -> Progress {
        let count = Int(min(remaining, Int64(input.count)))
        input.withUnread { collector.append($0.slice(0..<count)) }
        input.consume(count)
        state = .fixed(remaining - Int64(count))
        return Int64(count) == remaining ? finish(HeaderLines()) : pause
    }

    private mutating func readBody(
        _ input: inout InputBuffer,
        _ start: ChunkedDecoder
    ) throws(MalformedRequest) -> Progress {
        var decoder = start
        while !decoder.isDone, collector.gate == nil {
            let count = try input.withUnread { bytes throws(MalformedRequest) in
                try decoder.consume(bytes) { collector.append($0) }
            }
            input.consume(count)
            guard count > 0 else { break }
        }
        state = .chunked(decoder)
        return decoder.isDone ? finish(decoder.trailers) : pause
    }

    private var pause: Progress { collector.gate.map { .paused($0) } ?? .incomplete }

    private mutating func finish(_ trailers: HeaderLines) -> Progress {
        guard var complete = request else { return .incomplete }
        collector.finish(&complete)
        collector = BodyCollector(.discard)
        complete.trailers = trailers
        complete.arrival = .now
        request = nil
        state = .head
        return .complete(complete)
    }
}

/// Bytes that have arrived and have not been read.
struct InputBuffer {
    private static let keptCapacity = 16 << 10
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        if start > 0, start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Marks bytes at the start as read.
    mutating func consume(_ count: Int) {
        start += count
        guard start == bytes.count else { return }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        start = 0
    }

    mutating func removeAll() {
        consume(count)
    }

    func withUnread<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[start...]))
        }
    }

    /// Removes the empty lines that a client may send between requests (RFC 9112 section 2.2).
    mutating func dropEmptyLines() {
        while count > 0, bytes[start] == .carriageReturn || bytes[start] == .lineFeed { consume(1) }
    }

    /// Returns the position after the first empty line from `offset` on.
    ///
    /// Bare line feeds end a line here, and are refused by the parser.
    func endOfHead(from offset: Int) -> Int? {
        withUnread { bytes in
            var search = offset
            while let feed = bytes.firstIndex(of: .lineFeed, from: search) {
                search = feed + 1
                if search < bytes.count, bytes[search] == .lineFeed { return search + 1 }
                if search + 1 < bytes.count, bytes[search] == .carriageReturn, bytes[search + 1] == .lineFeed {
                    return search + 2
                }
            }
            return nil
        }
    }
}
