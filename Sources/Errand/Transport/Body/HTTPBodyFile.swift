import Foundation

/// A file that appears under its name, whole, when it is finished, and leaves nothing behind otherwise.
struct HTTPBodyFile: ~Copyable {
    private let target: URL
    private let temporary: String
    private let descriptor: FileDescriptor

    /// Makes a temporary file beside `target`.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    init(_ target: URL) throws(TransportError) {
        self.target = target
        temporary = target.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).part").path
        do throws(SystemError) {
            descriptor = try FileDescriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
        } catch {
            throw TransportError(cannotWrite: target, error)
        }
    }

    deinit {
        unlink(temporary)
    }

    /// Adds bytes at the end.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        do throws(SystemError) {
            try descriptor.writeAll(bytes)
        } catch {
            throw TransportError(cannotWrite: target, error)
        }
    }

    /// Waits for the disk: many file systems do not tell before that a byte has found no room.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    func synchronize() throws(TransportError) {
        do throws(SystemError) {
            try descriptor.synchronize()
        } catch {
            throw TransportError(cannotWrite: target, error)
        }
    }

    /// Puts the file in its place, where it takes the place of another one, and returns that place.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    mutating func finish() throws(TransportError) -> URL {
        do throws(SystemError) {
            guard rename(temporary, target.path) == 0 else { throw SystemError.last("rename") }
            return target
        } catch {
            throw TransportError(cannotWrite: target, error)
        }
    }
}

extension TransportError {
    /// The disk did not take a file; the reason names the file's destination and quotes the system's error.
    init(cannotWrite target: URL, _ error: SystemError) {
        self.init(.storage, "\(target.lastPathComponent) cannot be written (\(error.reason))", underlying: error)
    }
}
