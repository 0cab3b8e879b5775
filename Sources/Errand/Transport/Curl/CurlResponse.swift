#if os(Linux)
import Foundation

/// What is left to do with the bytes of a body that libcurl has passed.
enum CurlBodyWrite {
    /// Nothing.
    case complete
    /// Decoding them would take too much of this turn; libcurl passes them again in the next one.
    case exceedsTurn
    /// libcurl passes them again when the receiver has room.
    case awaitsRoom
    /// The rest of the body is not needed.
    case endsExchange
}

/// The response of one exchange while it is received: header lines, then the body, which is decoded and stored.
struct CurlResponse: ~Copyable {
    /// The most bytes of a redirect's body that are received so that its connection can be used again.
    private static let longestRedirect: Int64 = 64 << 10

    private let request: HTTPRequest
    private let progress: TransferProgress.Handler?
    private(set) var block = CurlHeaderBlock()
    /// Once the block is complete.
    private var headers: HTTPHeaders = [:]
    private var layout = BodyLayout()
    /// Whether it is a redirect that is followed, so that its body does not matter: it is not decoded, and may be damaged.
    private(set) var isFollowed = false
    /// Whether it is a redirect of which nobody knows where its body ends: its connection must not be used again.
    private(set) var isUnreadable = false
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

    /// Whether the server needs no more of the request's body; after a success, it may read on.
    var refusesUpload: Bool { block.isComplete && block.status >= 300 }

    /// Known before libcurl reports it; not of a body without a length.
    var isWhole: Bool {
        guard block.isComplete, decoder?.isBusy != true else { return false }
        return !hasBody || layout.contentLength == receivedBytes
    }

    var isWholeOverHTTP2: Bool { block.isHTTP2 && isWhole }

    /// Whether it is an error over HTTP/2 whose body may be complete: without a length, libcurl does not report that before the
    /// request's body is sent.
    var mayBeWholeError: Bool {
        guard block.isHTTP2, block.isComplete, block.status >= 400, layout.contentLength == nil else { return false }
        return !request.isResponseStreamed && (decoder == nil || (try? decoder?.finish()) != nil)
    }

    /// Also by a line of a 1xx response.
    var hasBegun: Bool { block.receivedBytes > 0 }

    func head() -> TransportEvent { .head(status: block.status, headers: headers) }

    private var hasBody: Bool { request.method.allowsResponseBody(block.status) }

    mutating func receive(headerLine line: UnsafeRawBufferPointer) throws(TransportError) {
        let wasComplete = block.isComplete
        try block.append(line)
        guard block.receivedBytes <= request.limits.headerBytes else { throw request.limits.tooLargeHeaders }
        guard block.status >= 100 else { throw TransportError(.badResponse, "the status line has no status code") }
        guard !block.isInterim || block.status != 101 else {
            throw TransportError(.badResponse, "the server switched to another protocol without a request")
        }
        if block.isInterim, let observer = request.observer {
            observer(.interim(status: block.status, headers: block.headers()))
        }
        guard block.isComplete, !wasComplete else { return }
        headers = block.headers()
        try readFraming()
        request.didReceiveHead?(block.status, headers)
        // A stream has its head before there is a body.
        if case .stream = request.destination { try begin() }
    }

    private mutating func readFraming() throws(TransportError) {
        isFollowed = request.follows(block.status, headers)
        do throws(TransportError) {
            layout = try block.framing().layout(hasBody: hasBody, canDecode: \.isAvailable)
        } catch {
            guard isFollowed else { throw error }
            isUnreadable = true
        }
        if isFollowed { layout = BodyLayout() }
    }

    /// Decodes as many bytes as `budget` allows.
    ///
    /// Returns what is left to do with them.
    mutating func receive(
        body bytes: UnsafeRawBufferPointer,
        within budget: inout DecodingBudget,
        hasRoom ready: @escaping @Sendable () -> Void
    ) throws(TransportError) -> CurlBodyWrite {
        guard !isFollowed else {
            receivedBytes += Int64(bytes.count)
            return receivedBytes > Self.longestRedirect ? .endsExchange : .complete
        }
        try begin()
        let receiver = writer?.receiver
        guard receiver?.hasRoom(orCall: ready) != false else { return .awaitsRoom }
        let write = try decode(bytes, within: &budget, ready)
        if let progress {
            progress(TransferProgress(.download, completedBytes: decodedBytes, totalBytes: layout.decodedLength))
        }
        return write
    }

    private mutating func decode(
        _ bytes: UnsafeRawBufferPointer,
        within budget: inout DecodingBudget,
        _ ready: @escaping @Sendable () -> Void
    ) throws(TransportError) -> CurlBodyWrite {
        guard let decoder else {
            receivedBytes += Int64(bytes.count)
            try append(bytes)
            return .complete
        }
        var hasRoom = true
        let unread = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(readBytes))
        var rest = unread
        defer { receivedBytes += Int64(unread.count - rest.count) }
        let isDecoded = try decoder.decode(&rest, within: &budget) { part throws(TransportError) in
            try append(part)
            hasRoom = writer?.receiver?.hasRoom(orCall: ready) ?? true
            return hasRoom
        }
        readBytes = isDecoded ? max(0, readBytes - bytes.count) : readBytes + unread.count - rest.count
        return isDecoded ? .complete : hasRoom ? .exceedsTurn : .awaitsRoom
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
        try writer?.receiver?.finish()
        try writer?.synchronize()
    }

    /// Called after ``end()``, and after ``save()`` where the response is stored in a file.
    mutating func response() throws(TransportError) -> HTTPResponse {
        try begin()
        let (body, file) = (writer?.body ?? Data(), writer?.file)
        var response = HTTPResponse(status: block.status, headers: headers, body: body, file: file)
        if writer?.receiver != nil { response.isStreamed = true }
        return response
    }

    mutating func discard() {
        writer = nil
    }

    private mutating func begin() throws(TransportError) {
        guard writer == nil else { return }
        let receiver = try request.receiver(status: block.status, headers: headers)
        let expected = layout.decodedLength
        writer = try HTTPBodyWriter(request, status: block.status, receiver: receiver, expected: expected)
        if !layout.codings.isEmpty { decoder = try BodyDecoder(layout.codings, limit: writer?.bodyLimit ?? nil) }
    }
}
#endif
