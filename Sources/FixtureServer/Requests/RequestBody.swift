import Errand
import ErrandSigning
import Foundation

/// How the server handles the bytes of a request body, which it always counts.
package enum BodyHandling: Sendable {
    /// Keeps the first bytes, up to a limit in bytes.
    case keep(upTo: Int)
    /// Keeps no bytes and computes their SHA-256.
    case digest
    /// Keeps no bytes.
    case discard
    /// Reads about this many bytes and no more until the test opens the gate; keeps none.
    ///
    /// The client cannot send more than the socket buffers hold. Its FIN follows what it has sent, so the server
    /// notices the end of such a connection only after the gate has opened.
    case pause(after: Int64, until: Gate)

    /// Keeps the first 16 MiB.
    package static let keep = BodyHandling.keep(upTo: 16 << 20)
}

/// Collects the bytes of one request body as a ``BodyHandling`` specifies.
struct BodyCollector: ~Copyable {
    private let handling: BodyHandling
    private var kept: [UInt8] = []
    private var hash: PlatformCrypto.RunningHash?
    private(set) var count: Int64 = 0

    init(_ handling: BodyHandling) {
        self.handling = handling
        if case .digest = handling { hash = try? PlatformCrypto.RunningHash(.sha256) }
    }

    /// The gate that must open before more of the body is read; `nil` when none is closed.
    var gate: Gate? {
        guard case .pause(let limit, let gate) = handling, count >= limit, !gate.isOpen else { return nil }
        return gate
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        try? hash?.add(Data(bytes))
        guard case .keep(let limit) = handling else { return }
        kept.append(contentsOf: bytes.slice(0..<min(bytes.count, limit - kept.count)))
    }

    /// Sets the body of `request`.
    mutating func finish(_ request: inout RecordedRequest) {
        request.body = kept
        request.bodyCount = count
        request.bodySHA256 = try? hash?.finish().hexadecimal
    }
}

/// The SHA-256 and the HMAC of `ErrandSigning`, whose library must be there.
package enum SHA256 {
    /// Returns the hash of these bytes in hexadecimal.
    package static func hexadecimal(of bytes: some Collection<UInt8>) -> String {
        hexadecimal(required { () throws(SigningError) in try Digest.sha256.hash(of: Array(bytes)) })
    }

    /// Returns the HMAC-SHA-256 of these bytes (RFC 2104).
    package static func hmac(of bytes: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
        required { () throws(SigningError) in try PlatformCrypto.hmacSHA256(of: Array(bytes), key: Array(key)) }
    }

    /// Returns the bytes in hexadecimal.
    package static func hexadecimal(_ bytes: [UInt8]) -> String { bytes.hexadecimal }

    private static func required(_ body: () throws(SigningError) -> [UInt8]) -> [UInt8] {
        do {
            return try body()
        } catch {
            preconditionFailure(error.reason)
        }
    }
}

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
