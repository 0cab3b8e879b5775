import Errand
import Foundation

extension ScriptedTransport {
    /// Calls a script when the body of its request has been read, as a server responds to it, and passes the elements of a streamed
    /// response on as they come.
    ///
    /// A body without files and streams, and whose progress is not observed, needs no reading.
    static func run(
        _ script: Script,
        for request: HTTPRequest,
        _ progress: TransferProgress.Handler?,
        _ deadlines: ScriptedDeadlines?
    ) async throws -> HTTPResponse {
        let body = request.body
        if !body.isInMemory || progress != nil && !body.isEmpty { try await body.readToEnd(progress, deadlines) }
        let response = try await script(request)
        guard let stream = response.bodyStream else { return response }
        guard !Task.isCancelled else { throw TransportError(.cancelled, "the task was cancelled") }
        return try await response.streamed(stream, to: request, progress, deadlines)
    }
}

extension HTTPResponse {
    fileprivate func streamed(
        _ stream: HTTPBody.Stream,
        to request: HTTPRequest,
        _ progress: TransferProgress.Handler?,
        _ deadlines: ScriptedDeadlines?
    ) async throws -> HTTPResponse {
        var response = self
        response.bodyStream = nil
        guard request.method.allowsResponseBody(status) else { return response }
        request.didReceiveHead?(status, headers)
        let receiver = try request.receiver(status: status, headers: headers)
        var bytes: Int64 = 0
        try await stream.readChecked { chunk in
            deadlines?.restartTimeout()
            guard let receiver else {
                response.body.append(chunk)
                guard response.body.count > request.limits.bodyBytes, request.destination == .memory else { return }
                throw TransportError(.responseTooLarge, "the body is larger than \(request.limits.bodyBytes) bytes")
            }
            let write = { try await receiver.write(chunk) }
            if let deadlines { try await deadlines.withoutTimeout(write) } else { try await write() }
            bytes += Int64(chunk.count)
            progress?(TransferProgress(.download, completedBytes: bytes, totalBytes: stream.length))
        }
        try receiver?.finish()
        response.isStreamed = receiver != nil
        return response
    }
}

extension HTTPBody {
    /// Reads the body to its end, and reports that as one progress; an empty body has none.
    fileprivate func readToEnd(
        _ progress: TransferProgress.Handler?,
        _ deadlines: ScriptedDeadlines?
    ) async throws(TransportError) {
        var reader = try HTTPBodyReader(self)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { buffer.deallocate() }
        var bytes: Int64 = 0
        while true {
            guard !Task.isCancelled else { throw TransportError(.cancelled, "the task was cancelled") }
            let (arrivals, arrival) = AsyncStream<Void>.makeStream()
            let read = try reader.read(into: buffer, ready: { arrival.finish() })
            guard let read else {
                // Ends also when the task is cancelled.
                for await _ in arrivals {}
                continue
            }
            guard read > 0 else { break }
            bytes += Int64(read)
            deadlines?.restartTimeout()
        }
        guard bytes > 0 else { return }
        progress?(TransferProgress(.upload, completedBytes: bytes, totalBytes: reader.totalBytes))
    }
}

extension HTTPRequest {
    /// This request without the header lines that a transport writes itself.
    var asSent: HTTPRequest {
        guard headers.contains(where: \.isWrittenByTransport) else { return self }
        var request = self
        request.headers = HTTPHeaders(headers.filter { !$0.isWrittenByTransport })
        return request
    }
}

extension HTTPResponse {
    /// Returns this response as a transport does: without a body where HTTP has none and for a redirect that is followed, checked
    /// against the limits, reported, and written to its file.
    func delivered(
        to request: HTTPRequest,
        _ progress: TransferProgress.Handler?
    ) throws(TransportError) -> HTTPResponse {
        try request.limits.check(headers)
        var response = self
        if let source = response.file {
            do {
                (response.body, response.file) = (try Data(contentsOf: source), nil)
            } catch {
                let reason = "\(Redactor.fileName(of: source)), the body of a scripted response, cannot be read"
                throw TransportError(.storage, reason, underlying: error)
            }
        }
        if !request.method.allowsResponseBody(status) || request.follows(status, headers) { response.body = Data() }
        let bytes = Int64(response.body.count)
        if case .folder = request.destination { throw .folderDestination }
        if case .file(let file) = request.destination, (200..<300).contains(status) {
            try response.write(to: file)
        } else if response.body.count > request.limits.bodyBytes {
            throw TransportError(.responseTooLarge, "the body is larger than \(request.limits.bodyBytes) bytes")
        }
        if bytes > 0 {
            progress?(TransferProgress(.download, completedBytes: bytes, totalBytes: bytes))
        }
        return response
    }

    private mutating func write(to file: URL) throws(TransportError) {
        do {
            try body.write(to: file, options: .atomic)
        } catch {
            throw TransportError(.storage, "\(Redactor.fileName(of: file)) cannot be written", underlying: error)
        }
        (body, self.file) = (Data(), file)
    }
}
