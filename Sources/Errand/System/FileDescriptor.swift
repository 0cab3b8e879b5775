import Foundation

/// An open file, which is closed when this value is destroyed or the process executes another program.
package struct FileDescriptor: ~Copyable {
    let number: CInt

    init(opening path: String, _ flags: CInt, mode: mode_t = 0) throws(SystemError) {
        number = try Self.retrying("open") { open(path, flags | O_CLOEXEC, mode) }
    }

    /// Opens a file that may have been replaced since it was chosen, for example by a pipe, which could block.
    ///
    /// - Throws: `EINVAL` for what is not a regular file, and `ENXIO` for a socket.
    package static func regularFile(_ url: URL) throws(SystemError) -> FileDescriptor {
        let file = try FileDescriptor(opening: url.path, O_RDONLY | O_NONBLOCK)
        guard try file.status().isFile else { throw SystemError(call: "open", number: EINVAL) }
        return file
    }

    /// `path` is relative to an open folder.
    init(
        opening path: String,
        _ flags: CInt,
        mode: mode_t = 0,
        in folder: borrowing FileDescriptor
    ) throws(SystemError) {
        let folder = folder.number
        number = try Self.retrying("openat") { openat(folder, path, flags | O_CLOEXEC, mode) }
    }

    deinit { close(number) }

    /// The names in an open folder, without `.` and `..`.
    func names() throws(SystemError) -> [String] {
        let copy = try Self.retrying("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }
        guard let stream = fdopendir(copy) else {
            defer { close(copy) }
            throw .last("fdopendir")
        }
        defer { closedir(stream) }
        rewinddir(stream)
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    func status() throws(SystemError) -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .last("fstat") }
        return status
    }

    func setMode(_ mode: mode_t) throws(SystemError) {
        guard fchmod(number, mode) == 0 else { throw .last("fchmod") }
    }

    /// From the current position.
    package func readAll(atMost limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        while bytes.count < limit {
            let count = try Self.retrying("read") { read(number, &chunk, min(chunk.count, limit - bytes.count)) }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Returns the number of bytes; 0 at the end of the file.
    package func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try Self.retrying("read") { read(number, buffer.baseAddress, buffer.count) }
    }

    /// Returns the number of bytes from `offset` to the end of the file, or of the buffer.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let position = off_t(offset) + off_t(filled)
            let count = try Self.retrying("pread") { pread(number, rest.baseAddress, rest.count, position) }
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.withBytes { bytes throws(SystemError) in try writeAll(bytes) }
    }

    func writeAll(_ bytes: UnsafeRawBufferPointer) throws(SystemError) { try Self.write(bytes, to: number) }

    static func write(_ bytes: UnsafeRawBufferPointer, to number: CInt) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try retrying("write") { Foundation.write(number, rest.baseAddress, rest.count) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// The next bytes are written at `offset`.
    func truncate(to offset: Int64) throws(SystemError) {
        guard ftruncate(number, off_t(offset)) == 0 else { throw .last("ftruncate") }
        guard lseek(number, off_t(offset), SEEK_SET) >= 0 else { throw .last("lseek") }
    }

    /// Waits until everything that was written is on the disk; on Apple's platforms, at least before what is written later.
    func synchronize() throws(SystemError) {
        #if canImport(Darwin)
        // Untested: after `fsync`, the bytes may be in the memory of the drive, and reach the disk in another order.
        do throws(SystemError) {
            _ = try Self.retrying("fcntl") { fcntl(number, F_BARRIERFSYNC) }
            return
        } catch {
            // Some file systems have no barrier.
            guard [ENOTSUP, EOPNOTSUPP, EINVAL, ENOTTY].contains(error.number) else { throw error }
        }
        #endif
        _ = try Self.retrying("fsync") { fsync(number) }
    }

    /// Repeats a call that a signal interrupts.
    private static func retrying<Result: SignedInteger>(
        _ name: String,
        _ call: () -> Result
    ) throws(SystemError) -> Result {
        while true {
            let result = call()
            if result >= 0 { return result }
            guard errno == EINTR else { throw .last(name) }
        }
    }
}

extension String {
    /// The text of a random UUID; `UUID()` is a constant on Linux while the process has no free descriptor.
    package static var uniqueName: String {
        let words = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        return UUID(uuid: unsafeBitCast(words, to: uuid_t.self)).uuidString
    }
}

// As an `NSError`, the one of its number.
package struct SystemError: Error, CustomNSError {
    package static var errorDomain: String { NSPOSIXErrorDomain }
    package var errorCode: Int { Int(number) }

    let call: String
    package let number: CInt
    static func last(_ call: String) -> SystemError { SystemError(call: call, number: errno) }

    /// Whether it says nothing about the file: too much is open, or the device is locked.
    var isOfProcess: Bool { [EMFILE, ENFILE, ENOMEM, EPERM, EINTR].contains(number) }

    package var reason: String { "\(call): \(String(cString: strerror(number)))" }
}
