#if os(Linux)
import Foundation

enum CurlBodyRead {
    /// The number of bytes that have been read; 0 at the end.
    case bytes(Int)
    /// The transfer pauses; the loop resumes it when there are bytes.
    case pending
    /// The exchange has failed.
    case failed
}

/// The body of one request while it is sent.
struct CurlUpload: ~Copyable {
    /// The largest body that libcurl sends together with the header lines, in one system call.
    private static let memoryLimit: Int64 = 65_536

    /// The bytes of the whole body; `nil` when unknown.
    let totalBytes: Int64?
    /// The whole body, when it is small and its progress is not observed; `nil` when it is sent in parts, or empty.
    let memory: UnsafeRawBufferPointer?
    private var reader: HTTPBodyReader
    private let progress: TransferProgress.Handler?
    /// The bytes that libcurl has read, of a body that is sent in parts.
    private(set) var sentBytes: Int64 = 0
    /// When libcurl read the last byte, of a body that is sent in parts.
    private(set) var endedAt: MonotonicClock.Instant?
    private var isAtEnd = false

    /// Whether there is a body, possibly without bytes.
    var hasBody: Bool { memory != nil || totalBytes != 0 }

    /// Whether some of the bytes have not been sent, of a body that is sent in parts.
    var isIncomplete: Bool { memory == nil && totalBytes.map { sentBytes < $0 } ?? !isAtEnd }

    /// Returns whether the body is sent when libcurl has sent `bytes` of it.
    func isComplete(after bytes: Int64) -> Bool { totalBytes.map { bytes >= $0 } ?? isAtEnd }

    /// Measures the body of `request`, and reads it when it is small.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    init(_ request: HTTPRequest, progress: TransferProgress.Handler?) throws(TransportError) {
        var reader = try HTTPBodyReader(request.body)
        let isSmall = reader.isSmall(Self.memoryLimit) && (progress == nil || reader.totalBytes == 0)
        let isBody = !request.body.isEmpty || request.method.requiresContentLength
        let memory = isSmall && isBody ? try Self.wholeBody(&reader) : nil
        self.memory = memory
        // libcurl does not read a body of 0 bytes, but the sequence of a stream is read to check its length.
        let isUnread = reader.totalBytes == 0 && request.body.isStreamed
        totalBytes = isUnread ? nil : reader.totalBytes
        self.reader = reader
        self.progress = progress
    }

    deinit {
        memory?.deallocate()
    }

    /// Fills `buffer` with the next bytes: 0 is the end, `nil` if those of a stream are not there yet; see ``HTTPBodyReader``.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    mutating func read(
        into buffer: UnsafeMutableRawBufferPointer,
        ready: @escaping @Sendable () -> Void
    ) throws(TransportError) -> Int? {
        guard let count = try reader.read(into: buffer, ready: ready) else { return nil }
        sentBytes += Int64(count)
        isAtEnd = count == 0
        if !isIncomplete { endedAt = endedAt ?? MonotonicClock.now }
        if count > 0 {
            progress?(TransferProgress(.upload, completedBytes: sentBytes, totalBytes: totalBytes))
        }
        return count
    }

    mutating func stop() {
        reader.stop()
    }

    /// Moves to the first byte; `false` when bytes have been sent that may not be sent again.
    mutating func rewind(isRepeatable: Bool) -> Bool {
        guard isRepeatable || sentBytes == 0 else { return false }
        reader.rewind()
        (sentBytes, isAtEnd, endedAt) = (0, false, nil)
        return true
    }

    private static func wholeBody(_ reader: inout HTTPBodyReader) throws(TransportError) -> UnsafeRawBufferPointer {
        let count = Int(reader.totalBytes ?? 0)
        // libcurl calls the read function for a null pointer.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 1)
        do throws(TransportError) {
            _ = try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
            return UnsafeRawBufferPointer(buffer)
        } catch {
            buffer.deallocate()
            throw error
        }
    }
}

extension HTTPMethod {
    /// Whether a request without a body has a `Content-Length: 0` (RFC 9110 section 8.6).
    fileprivate var requiresContentLength: Bool {
        [.post, .put, .patch].contains(self)
    }
}
#endif
