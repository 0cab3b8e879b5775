import Foundation

/// A file that appears under its name, whole, when it is finished, and leaves nothing behind otherwise.
struct HTTPBodyFile: ~Copyable {
    private let target: URL
    private let temporary: String
    private let descriptor: FileDescriptor

    /// Makes a temporary file beside `target`.
    ///
    /// - Throws: ``TransportError/Kind/file``.
    init(_ target: URL) throws(TransportError) {
        self.target = target
        temporary = target.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).part").path
        do throws(SystemError) {
            descriptor = try FileDescriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
        } catch {
            throw Self.failure(target, error)
        }
    }

    deinit {
        unlink(temporary)
    }

    /// Adds bytes at the end.
    ///
    /// - Throws: ``TransportError/Kind/file``.
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        do throws(SystemError) {
            try descriptor.writeAll(bytes)
        } catch {
            throw Self.failure(target, error)
        }
    }

    /// Waits for the disk: many file systems do not tell before that a byte has found no room.
    ///
    /// - Throws: ``TransportError/Kind/file``.
    func synchronize() throws(TransportError) {
        do throws(SystemError) {
            try descriptor.synchronize()
        } catch {
            throw Self.failure(target, error)
        }
    }

    /// Puts the file in its place, where it takes the place of another one, and returns that place.
    ///
    /// - Throws: ``TransportError/Kind/file``.
    mutating func finish() throws(TransportError) -> URL {
        do throws(SystemError) {
            guard rename(temporary, target.path) == 0 else { throw SystemError.last("rename") }
            return target
        } catch {
            throw Self.failure(target, error)
        }
    }

    private static func failure(_ target: URL, _ error: SystemError) -> TransportError {
        TransportError(.file, "\(target.lastPathComponent) cannot be written (\(error.reason))", underlying: error)
    }
}
