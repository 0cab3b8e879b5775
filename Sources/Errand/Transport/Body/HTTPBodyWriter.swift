import Foundation

/// Stores the body of one response, in memory up to the limit or in the request's file; used by one thread at a time.
///
/// After a failure, the file may be incomplete; the sender removes it.
struct HTTPBodyWriter: ~Copyable {
    private static let reserveLimit: Int64 = 1 << 20

    private(set) var body = Data()
    /// The file with the body; `nil` when it is in memory.
    let file: URL?
    private var descriptor: FileDescriptor?
    private let limit: Int

    /// The most bytes that the body may have; `nil` when it is stored in a file.
    var bodyLimit: Int? { file == nil ? limit : nil }

    /// Creates a writer for the body of a response with `status`; a file replaces an existing one.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` when `expected` exceeds the limit;
    ///   ``TransportError/Kind/storage`` when the file cannot be created.
    init(_ request: HTTPRequest, status: Int, expected: Int64?) throws(TransportError) {
        limit = request.limits.bodyBytes
        if case .file(let target) = request.destination, (200..<300).contains(status) {
            file = target
            // The file of another name, if this is a link, is not written to.
            unlink(target.path)
            do throws(SystemError) {
                descriptor = try FileDescriptor(opening: target.path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
            } catch {
                throw TransportError(cannotWrite: target, error)
            }
            return
        }
        file = nil
        guard let expected else { return }
        guard expected <= Int64(limit) else { throw Self.tooLarge(limit) }
        body.reserveCapacity(Int(min(expected, Self.reserveLimit)))
    }

    /// Appends decoded bytes.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` or ``TransportError/Kind/storage``.
    mutating func append(_ data: Data) throws(TransportError) {
        try data.withUnsafeBytes { bytes in
            Result { () throws(TransportError) in try append(bytes) }
        }.get()
    }

    /// Appends decoded bytes.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` or ``TransportError/Kind/storage``.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        if let file {
            do throws(SystemError) { try descriptor?.writeAll(bytes) } catch { throw .init(cannotWrite: file, error) }
            return
        }
        guard bytes.count <= limit - body.count else { throw Self.tooLarge(limit) }
        guard let start = bytes.baseAddress else { return }
        body.append(start.assumingMemoryBound(to: UInt8.self), count: bytes.count)
    }

    /// Waits until the bytes of a file are on the disk: many file systems report a full disk only then.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    func synchronize() throws(TransportError) {
        guard let file else { return }
        do throws(SystemError) { try descriptor?.synchronize() } catch { throw .init(cannotWrite: file, error) }
    }

    private static func tooLarge(_ limit: Int) -> TransportError {
        TransportError(.responseTooLarge, "the body is larger than \(limit) bytes")
    }
}

extension TransportError {
    /// Creates the error of a file that cannot be written; the reason names the file and quotes the system's error.
    init(cannotWrite target: URL, _ error: SystemError) {
        self.init(.storage, "\(target.lastPathComponent) cannot be written (\(error.reason))", underlying: error)
    }
}
