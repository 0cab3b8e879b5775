import Foundation

/// Stores the body of one response, in memory up to the limit or in the request's file, or passes it on; used by one thread at a
/// time.
///
/// After a failure, the file may be incomplete; the sender removes it.
struct HTTPBodyWriter: ~Copyable {
    private static let reserveLimit: Int64 = 1 << 20

    private(set) var body = Data()
    /// `nil` when the body is in memory.
    let file: URL?
    private var descriptor: FileDescriptor?
    /// Receives the body instead of this writer's memory or file.
    let receiver: (any HTTPBodyReceiver)?
    private let limit: Int

    /// `nil` when the body is not kept in memory.
    var bodyLimit: Int? { file == nil && receiver == nil ? limit : nil }

    /// The file of the request replaces an existing one.
    init(
        _ request: HTTPRequest,
        status: Int,
        receiver: (any HTTPBodyReceiver)?,
        expected: Int64?
    ) throws(TransportError) {
        limit = request.limits.bodyBytes
        self.receiver = receiver
        if case .file(let target) = request.destination, (200..<300).contains(status) {
            file = target
            // The file of another name, if this is a link, is not written to.
            unlink(target.path)
            descriptor = try target.reporting { () throws(SystemError) in
                try FileDescriptor(opening: target.path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
            }
            return
        }
        file = nil
        if case .folder = request.destination { throw .folderDestination }
        guard receiver == nil, let expected else { return }
        guard expected <= Int64(limit) else { throw TransportError(tooLargeBody: limit) }
        body.reserveCapacity(Int(min(expected, Self.reserveLimit)))
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        if let receiver { return try receiver.receive(bytes) }
        if let file { return try file.reporting { () throws(SystemError) in try descriptor?.writeAll(bytes) ?? () } }
        guard bytes.count <= limit - body.count else { throw TransportError(tooLargeBody: limit) }
        guard let start = bytes.baseAddress else { return }
        body.append(start.assumingMemoryBound(to: UInt8.self), count: bytes.count)
    }

    /// Many file systems report a full disk only when the bytes are on the disk.
    func synchronize() throws(TransportError) {
        try file?.reporting { () throws(SystemError) in try descriptor?.synchronize() ?? () }
    }
}

extension URL {
    /// Calls `body`, which writes the file at this URL; its errors are those of the transport.
    func reporting<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(TransportError) -> Result {
        do throws(SystemError) { return try body() } catch { throw TransportError(cannotWrite: self, error) }
    }
}

extension TransportError {
    package static var folderDestination: TransportError {
        TransportError(.invalidRequest, "a transport does not choose the name of a file in a folder; use a proxy")
    }

    init(tooLargeBody limit: Int) { self.init(.responseTooLarge, "the body is larger than \(limit) bytes") }

    /// The reason names the file, if its name is harmless, and quotes the system's error.
    init(cannotWrite target: URL, _ error: SystemError) {
        self.init(.storage, "\(Redactor.fileName(of: target)) cannot be written (\(error.reason))", underlying: error)
    }
}
