#if os(Linux)
import Foundation

/// The response of one exchange while it is received: header lines, then the body, which is decoded and stored.
struct CurlResponse: ~Copyable {
    private let request: HTTPRequest
    private let progress: TransferProgress.Handler?
    private(set) var block = CurlHeaderBlock()
    private var layout = BodyLayout()
    private var decoder: BodyDecoder?
    /// Of those that libcurl passes again.
    private var readBytes = 0
    private var writer: HTTPBodyWriter?
    /// Without the framing of chunks.
    private(set) var receivedBytes: Int64 = 0
    private(set) var decodedBytes: Int64 = 0

    init(to request: HTTPRequest, progress: TransferProgress.Handler?) {
        self.request = request
        self.progress = progress
    }

    /// Known before libcurl reports it.
    var isWholeOverHTTP2: Bool {
        guard block.isComplete, block.isHTTP2, decoder?.isBusy != true else { return false }
        return !hasBody || layout.contentLength == receivedBytes
    }

    /// Also by a line of a 1xx response.
    var hasBegun: Bool { block.receivedBytes > 0 }

    func head() -> TransportEvent { .head(status: block.status, headers: block.headers()) }

    private var hasBody: Bool { request.method.allowsResponseBody(block.status) }

    mutating func receive(headerLine line: UnsafeRawBufferPointer) throws(TransportError) {
        let wasComplete = block.isComplete
        try block.append(line)
        guard block.receivedBytes <= request.limits.headerBytes else { throw request.limits.tooLargeHeaders }
        guard block.status >= 100 else { throw TransportError(.badResponse, "the status line has no status code") }
        guard !block.isSwitchingProtocols else {
            throw TransportError(.badResponse, "the server switched to another protocol without a request")
        }
        if block.isComplete, !wasComplete { try readFraming() }
    }

    private mutating func readFraming() throws(TransportError) {
        layout = try block.framing().layout(hasBody: hasBody, canDecode: ContentDecoder.isAvailable)
    }

    /// Decodes as many bytes as `budget` allows.
    ///
    /// Returns whether all of them are decoded; if not, the same bytes have to be passed again.
    mutating func receive(
        body bytes: UnsafeRawBufferPointer,
        within budget: inout DecodingBudget
    ) throws(TransportError) -> Bool {
        try begin()
        let isDecoded = try decode(bytes, within: &budget)
        if let progress, !request.mayFollow(block.status) {
            progress(TransferProgress(.download, completedBytes: decodedBytes, totalBytes: layout.decodedLength))
        }
        return isDecoded
    }

    private mutating func decode(
        _ bytes: UnsafeRawBufferPointer,
        within budget: inout DecodingBudget
    ) throws(TransportError) -> Bool {
        guard let decoder else {
            receivedBytes += Int64(bytes.count)
            try append(bytes)
            return true
        }
        let unread = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(readBytes))
        var rest = unread
        defer { receivedBytes += Int64(unread.count - rest.count) }
        let isDecoded = try decoder.decode(&rest, within: &budget) { part throws(TransportError) in try append(part) }
        readBytes = isDecoded ? max(0, readBytes - bytes.count) : readBytes + unread.count - rest.count
        return isDecoded
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        decodedBytes += Int64(bytes.count)
        try writer?.append(bytes)
    }

    /// Called after libcurl has reported success.
    mutating func end() throws(TransportError) {
        guard block.isComplete else {
            throw TransportError(.connectionLost, "the connection ended inside the header block")
        }
        try decoder?.finish()
    }

    /// Waits until a file is on the disk; called after ``end()``.
    mutating func save() throws(TransportError) {
        try begin()
        try writer?.synchronize()
    }

    /// Called after ``end()``, and after ``save()`` where the response is stored in a file.
    mutating func response() throws(TransportError) -> HTTPResponse {
        try begin()
        let (body, file) = (writer?.body ?? Data(), writer?.file)
        return HTTPResponse(status: block.status, headers: block.headers(), body: body, file: file)
    }

    mutating func discard() {
        writer = nil
    }

    private mutating func begin() throws(TransportError) {
        guard writer == nil else { return }
        writer = try HTTPBodyWriter(request, status: block.status, expected: layout.decodedLength)
        if !layout.codings.isEmpty { decoder = try BodyDecoder(layout.codings, limit: writer?.bodyLimit ?? nil) }
    }
}
#endif
