#if os(Linux)
import Foundation

/// The answer of one exchange while it comes in: header lines, then the body, which is decoded and kept.
struct CurlAnswer: ~Copyable {
    private let request: HTTPRequest
    private let progress: TransferProgress.Handler?
    private var block = CurlHeaderBlock()
    private var announcedBytes: Int64?
    private var codings: [ContentCoding] = []
    private var decoder: BodyDecoder?
    /// The bytes that ``decoder`` has read of those that have to come again.
    private var readBytes = 0
    private var writer: HTTPBodyWriter?
    private var file: URL?
    private var receivedBytes: Int64 = 0
    private var decodedBytes: Int64 = 0

    init(to request: HTTPRequest, progress: TransferProgress.Handler?) {
        self.request = request
        self.progress = progress
    }

    /// Whether the answer came over HTTP/2 and is known to be complete, before libcurl says so.
    var isWholeOverHTTP2: Bool {
        guard block.isComplete, block.isHTTP2, decoder?.isBusy != true else { return false }
        return !hasBody || announcedBytes == receivedBytes
    }

    private var hasBody: Bool { request.method.isAnsweredWithBody(block.status) }

    /// Takes one header line.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` or ``TransportError/Kind/badResponse``.
    mutating func receive(headerLine line: UnsafeRawBufferPointer) throws(TransportError) {
        let wasComplete = block.isComplete
        try block.append(line)
        guard block.receivedBytes <= request.limits.headerBytes else {
            let reason = "the header block is larger than \(request.limits.headerBytes) bytes"
            throw TransportError(.responseTooLarge, reason)
        }
        guard block.status >= 100 else { throw TransportError(.badResponse, "the status line has no status code") }
        guard !block.isSwitchingProtocols else {
            throw TransportError(.badResponse, "the server switched to another protocol unasked")
        }
        if block.isComplete, !wasComplete { try readFraming() }
    }

    private mutating func readFraming() throws(TransportError) {
        let framing = try block.framing()
        announcedBytes = try framing.contentLength()
        if hasBody { codings = try framing.codings(CurlDecoder.isAvailable) }
    }

    /// Takes bytes of the body as they came over the wire, unless decoding them takes more than `budget`.
    ///
    /// - Returns: Whether all of them are decoded; if not, the same bytes have to come again.
    /// - Throws: ``TransportError/Kind/responseTooLarge``, ``TransportError/Kind/badResponse`` or
    ///   ``TransportError/Kind/storage``.
    mutating func receive(
        body bytes: UnsafeRawBufferPointer,
        _ budget: inout DecodingBudget
    ) throws(TransportError) -> Bool {
        try begin()
        let isDone = try take(bytes, &budget)
        progress?(TransferProgress(.download, completedBytes: decodedBytes, totalBytes: totalBytes))
        return isDone
    }

    private mutating func take(
        _ bytes: UnsafeRawBufferPointer,
        _ budget: inout DecodingBudget
    ) throws(TransportError) -> Bool {
        guard let decoder else {
            receivedBytes += Int64(bytes.count)
            try append(bytes)
            return true
        }
        let unread = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(readBytes))
        var rest = unread
        let isDone = try decoder.decode(&rest, &budget) { part throws(TransportError) in try append(part) }
        receivedBytes += Int64(unread.count - rest.count)
        readBytes = isDone ? max(0, readBytes - bytes.count) : readBytes + unread.count - rest.count
        return isDone
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        decodedBytes += Int64(bytes.count)
        try writer?.append(bytes)
    }

    /// Checks that nothing is missing, once libcurl is content.
    ///
    /// - Throws: ``TransportError/Kind/connectionLost``.
    mutating func end() throws(TransportError) {
        guard block.isComplete else {
            throw TransportError(.connectionLost, "the connection ended inside the header block")
        }
        try decoder?.finish()
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
        writer = try HTTPBodyWriter(request, status: block.status, expected: totalBytes)
        if !codings.isEmpty { decoder = try BodyDecoder(codings, limit: writer?.bodyLimit ?? nil) }
    }

    /// The bytes of the decoded body, where that is known.
    private var totalBytes: Int64? { codings.isEmpty && hasBody ? announcedBytes : nil }
}
#endif
