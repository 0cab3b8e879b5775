import Foundation

/// Stores the body of one answer, in memory up to the limit or in a file; used by one thread at a time.
///
/// ``finish()`` creates the file under its name; see ``HTTPBodyFile``.
struct HTTPBodyWriter: ~Copyable {
    private static let reserveLimit: Int64 = 1 << 20

    private(set) var body = Data()
    private var file: HTTPBodyFile?
    private let limit: Int

    /// The most bytes that the body may have; `nil` when it is stored in a file.
    var bodyLimit: Int? { file == nil ? limit : nil }

    /// Creates a writer for the body of an answer with `status`.
    ///
    /// - Throws: ``TransportError/Kind/responseTooLarge`` when `expected` exceeds the limit;
    ///   ``TransportError/Kind/storage`` when the file cannot be created.
    init(_ request: HTTPRequest, status: Int, expected: Int64?) throws(TransportError) {
        limit = request.limits.bodyBytes
        if case .file(let target) = request.destination, (200..<300).contains(status) {
            file = try HTTPBodyFile(target)
        } else if let expected {
            guard expected <= Int64(limit) else { throw Self.tooLarge(limit) }
            body.reserveCapacity(Int(min(expected, Self.reserveLimit)))
        }
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
        guard file == nil else { return try file?.write(bytes) ?? () }
        guard bytes.count <= limit - body.count else { throw Self.tooLarge(limit) }
        guard let start = bytes.baseAddress else { return }
        body.append(start.assumingMemoryBound(to: UInt8.self), count: bytes.count)
    }

    /// Waits until the bytes of a file are on the disk.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    func synchronize() throws(TransportError) {
        try file?.synchronize()
    }

    /// Completes the body; moves a file to its destination and returns that.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    mutating func finish() throws(TransportError) -> URL? {
        try file?.finish()
    }

    private static func tooLarge(_ limit: Int) -> TransportError {
        TransportError(.responseTooLarge, "the body is larger than \(limit) bytes")
    }
}
