/// Decodes the chunked coding (RFC 9112 section 7.1).
struct ChunkedDecoder {
    private enum State {
        case size
        case data(Int64)
        case dataEnd
        case trailers
        case done
    }

    private static let lineLimit = 64 << 10
    private var state = State.size
    /// The trailer lines so far.
    private(set) var trailers = HeaderLines()

    /// Whether the last chunk and the trailers have been read.
    var isDone: Bool {
        if case .done = state { true } else { false }
    }

    /// Reads one element at the start of `bytes` and passes its data to `body`; returns how many bytes it has read, 0
    /// when it needs more.
    mutating func consume(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(MalformedRequest) -> Int {
        if case .data(let remaining) = state {
            let count = Int(min(remaining, Int64(bytes.count)))
            body(bytes.slice(0..<count))
            state = Int64(count) < remaining ? .data(remaining - Int64(count)) : .dataEnd
            return count
        }
        guard let feed = bytes.firstIndex(of: .lineFeed, from: 0) else {
            guard bytes.count < Self.lineLimit else { throw MalformedRequest("a chunk line is too long") }
            return 0
        }
        guard feed > 0, bytes[feed - 1] == .carriageReturn else { throw MalformedRequest("a chunk line has no CR") }
        try line(bytes.slice(0..<feed - 1))
        return feed + 1
    }

    private mutating func line(_ line: UnsafeRawBufferPointer) throws(MalformedRequest) {
        switch state {
        case .size:
            let digits = line.prefix { $0 != UInt8(ascii: ";") }
            guard let size = UnsafeRawBufferPointer(rebasing: digits).number(radix: 16) else {
                throw MalformedRequest("a chunk size is not a hexadecimal number")
            }
            state = size > 0 ? .data(size) : .trailers
        case .dataEnd:
            guard line.isEmpty else { throw MalformedRequest("a chunk is longer than its size") }
            state = .size
        case .trailers where line.isEmpty:
            state = .done
        case .trailers:
            try trailer(line)
        case .data, .done:
            break
        }
    }

    private mutating func trailer(_ line: UnsafeRawBufferPointer) throws(MalformedRequest) {
        guard let colon = line.firstIndex(of: .colon, from: 0), colon > 0 else {
            throw MalformedRequest("a trailer has no name")
        }
        let value = line[(colon + 1)...].drop { $0 == .space || $0 == .tab }
        trailers.append(HeaderLine(String(decoding: line[..<colon], as: UTF8.self), bytes: Array(value)))
    }
}
