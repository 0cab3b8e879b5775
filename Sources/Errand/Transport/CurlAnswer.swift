#if os(Linux)
import Foundation

/// The answer of one exchange while it comes in: header lines, then the body, which is decoded and kept.
struct CurlAnswer: ~Copyable {
    private static let codingLimit = 5

    private let request: HTTPRequest
    private let progress: TransferProgress.Handler?
    private var block = CurlHeaderBlock()
    private var decoders: [ContentDecoder] = []
    private var writer: HTTPBodyWriter?
    private var file: URL?
    private var totalBytes: Int64?
    private var receivedBytes: Int64 = 0
    private var decodedBytes: Int64 = 0

    init(to request: HTTPRequest, progress: TransferProgress.Handler?) {
        self.request = request
        self.progress = progress
    }

    /// Whether the answer came over HTTP/2 and is known to be complete, before libcurl says so.
    var isWholeOverHTTP2: Bool {
        guard block.isComplete, block.isHTTP2 else { return false }
        return !hasBody || (try? block.contentLength()) == receivedBytes
    }

    private var hasBody: Bool {
        request.method != .head && block.status != 204 && block.status != 304
    }

    /// Takes one header line.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` or ``TransportError/Kind/badResponse``.
    mutating func receive(headerLine line: UnsafeRawBufferPointer) throws(TransportError) {
        block.append(line)
        guard block.receivedBytes <= request.limits.headerBytes else {
            let reason = "the header block is larger than \(request.limits.headerBytes) bytes"
            throw TransportError(.responseTooLarge, reason)
        }
        guard block.status >= 100 else { throw TransportError(.badResponse, "the status line has no status code") }
        guard !block.isSwitchingProtocols else {
            throw TransportError(.badResponse, "the server switched to another protocol unasked")
        }
    }

    /// Takes bytes of the body as they came over the wire.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge``, ``TransportError/Kind/badResponse`` or
    ///   ``TransportError/Kind/storage``.
    mutating func receive(body bytes: UnsafeRawBufferPointer) throws(TransportError) {
        try begin()
        receivedBytes += Int64(bytes.count)
        try decode(bytes, from: decoders.count - 1)
        progress?(TransferProgress(.download, completedBytes: decodedBytes, totalBytes: totalBytes))
    }

    /// Checks that nothing is missing, once libcurl is content.
    ///
    /// - Throws: ``TransportError/Kind/connectionLost`` or ``TransportError/Kind/badResponse``.
    mutating func end() throws(TransportError) {
        guard block.isComplete else {
            throw TransportError(.connectionLost, "the connection ended inside the header block")
        }
        if writer == nil { _ = try block.contentLength() }
        for decoder in decoders { try decoder.finish() }
    }

    /// Puts the file in its place, where the answer goes to one, after ``end()``.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    mutating func save() throws(TransportError) {
        try begin()
        try writer?.synchronize()
        file = try writer?.finish()
    }

    /// The answer, after ``end()``, and after ``save()`` where it goes to a file.
    ///
    /// - Throws: ``TransportError/Kind/badResponse``.
    mutating func response() throws(TransportError) -> HTTPResponse {
        try begin()
        return HTTPResponse(status: block.status, headers: block.headers(), body: writer?.body ?? Data(), file: file)
    }

    /// Lets go of the body, in memory or in a file that will not be whole.
    mutating func discard() {
        writer = nil
    }

    private mutating func begin() throws(TransportError) {
        guard writer == nil else { return }
        let announcedBytes = try block.contentLength()
        let codings = block.elements("content-encoding")
        guard codings.count <= Self.codingLimit else {
            throw TransportError(.badResponse, "the body is coded more than \(Self.codingLimit) times")
        }
        decoders = Self.decoders(of: codings)
        totalBytes = decoders.isEmpty && hasBody ? announcedBytes : nil
        writer = try HTTPBodyWriter(request, status: block.status, expected: totalBytes)
    }

    /// The decoders of the codings behind the last unknown one, which lies around those before it.
    private static func decoders(of codings: [String]) -> [ContentDecoder] {
        let applied = codings.filter { !$0.isEmpty && $0 != "identity" }
        let decoders = applied.map { ContentCoding(named: $0).flatMap(ContentDecoder.init) }
        return decoders.suffix(from: decoders.lastIndex { $0 == nil }.map { $0 + 1 } ?? 0).compactMap(\.self)
    }

    /// Decodes with the decoder at `index`, and what comes out with those before it; the coding named last is undone first.
    private mutating func decode(_ bytes: UnsafeRawBufferPointer, from index: Int) throws(TransportError) {
        guard index >= 0 else {
            decodedBytes += Int64(bytes.count)
            try writer?.append(bytes)
            return
        }
        try decoders[index].decode(bytes) { (part) throws(TransportError) in
            try decode(part, from: index - 1)
        }
    }
}
#endif
