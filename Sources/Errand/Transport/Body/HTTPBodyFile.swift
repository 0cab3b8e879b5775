import Foundation

/// A file that is created under its name only when it is complete; otherwise, no file remains.
struct HTTPBodyFile: ~Copyable {
    private let target: URL
    private let temporary: String
    private let descriptor: FileDescriptor

    /// Creates a temporary file in the folder of `target`.
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

    /// Appends bytes.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
        do throws(SystemError) {
            try descriptor.writeAll(bytes)
        } catch {
            throw TransportError(cannotWrite: target, error)
        }
    }

    /// Waits until the bytes are on the disk: many file systems report a full disk only then.
    ///
    /// - Throws: ``TransportError/Kind/storage``.
    func synchronize() throws(TransportError) {
        do throws(SystemError) {
            try descriptor.synchronize()
        } catch {
            throw TransportError(cannotWrite: target, error)
        }
    }

    /// Moves the file to its destination, where it replaces an existing one, and returns the destination.
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
    /// Creates the error of a file that cannot be written; the reason names the file and quotes the system's error.
    init(cannotWrite target: URL, _ error: SystemError) {
        self.init(.storage, "\(target.lastPathComponent) cannot be written (\(error.reason))", underlying: error)
    }
}
