#if os(Linux)
import CurlRuntime
import Foundation

/// The body of one request while it is sent.
struct CurlUpload: ~Copyable {
    /// libcurl sends such a body together with the header lines, in one system call.
    private static let memoryLimit: Int64 = 65_536

    /// `nil` when unknown.
    let totalBytes: Int64?
    /// Only of a small body whose progress is not observed.
    let memory: UnsafeRawBufferPointer?
    private var reader: HTTPBodyReader
    private let progress: TransferProgress.Handler?
    /// Of a body that is sent in parts.
    private(set) var sentBytes: Int64 = 0
    /// When libcurl read the last byte, of a body that is sent in parts.
    private(set) var endedAt: MonotonicClock.Instant?
    private var isAtEnd = false
    private var passage = CurlUploadPassage()

    var isUnread: Bool { sentBytes == 0 && !isAtEnd }
    /// Possibly without bytes.
    var hasBody: Bool { memory != nil || totalBytes != 0 }

    /// Only of a body that is sent in parts.
    var isIncomplete: Bool { memory == nil && totalBytes.map { sentBytes < $0 } ?? !isAtEnd }
    func isComplete(after bytes: Int64) -> Bool { totalBytes.map { bytes >= $0 } ?? isAtEnd }

    /// Reads the body when it is small.
    init(_ request: HTTPRequest, progress: TransferProgress.Handler?) throws(TransportError) {
        var reader = try HTTPBodyReader(request.body)
        let isSmall = (reader.totalBytes ?? .max) <= Self.memoryLimit && !request.body.isStreamed
        let isObserved = progress != nil && reader.totalBytes != 0
        // RFC 9110 section 8.6.
        let isBody = !request.body.isEmpty || [.post, .put, .patch].contains(request.method)
        memory = isSmall && !isObserved && isBody ? try Self.wholeBody(&reader) : nil
        // libcurl does not read a body of 0 bytes, but the sequence of a stream is read to check its length.
        let isUnread = reader.totalBytes == 0 && request.body.isStreamed
        totalBytes = isUnread ? nil : reader.totalBytes
        self.reader = reader
        self.progress = progress
    }

    deinit {
        memory?.deallocate()
    }

    /// 0 is the end, `nil` if the bytes of a stream are not there yet; see ``HTTPBodyReader``.
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

    /// Whether bytes of it may have been sent since the last call, on a connection that other requests may use.
    mutating func isMoving(libcurlSent bytes: Int64, on connection: CurlSending) -> Bool {
        // A small one that is sent waits for its response alone, whatever else the connection sends.
        let isSmall = memory != nil && isComplete(after: bytes)
        return passage.isMoving(libcurlSent: bytes, on: connection, isSmall: isSmall)
    }

    mutating func stop() {
        reader.stop()
    }

    /// `false` when bytes have been sent that may not be sent again.
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

/// The way of an upload through libcurl and the system, as it is seen from time to time.
///
/// Over HTTP/2, a connection also sends what is not of the upload, for which a server may have closed its window.
struct CurlUploadPassage {
    /// What libcurl may hold of what it has counted: since 8.1, 64 KiB of a stream and 16 KiB of a connection.
    private static let libcurlBytes: Int64 = 81_920

    private var libcurlSent: Int64 = 0
    /// How many bytes of the connection are acknowledged when all of these are.
    private var end: Int64 = 0
    private var isQueued = false

    /// Whether bytes of it may have been sent since the last call.
    mutating func isMoving(libcurlSent bytes: Int64, on connection: CurlSending, isSmall: Bool = false) -> Bool {
        let (hasGrown, wasQueued) = (bytes != libcurlSent, isQueued)
        if hasGrown {
            (libcurlSent, end) = (bytes, connection.acknowledged + connection.queued + Self.libcurlBytes)
        }
        isQueued = connection.queued > 0 && connection.acknowledged < end
        return hasGrown && !isSmall || wasQueued || isQueued
    }
}
#endif
