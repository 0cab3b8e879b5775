import Foundation

/// An open file that closes itself, also when the process becomes another program.
struct FileDescriptor: ~Copyable {
    let number: CInt

    init(opening path: String, _ flags: CInt, mode: mode_t = 0) throws(SystemError) {
        number = try Self.retrying("open") { open(path, flags | O_CLOEXEC, mode) }
    }

    deinit { close(number) }

    func status() throws(SystemError) -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .last("fstat") }
        return status
    }

    func setMode(_ mode: mode_t) throws(SystemError) {
        guard fchmod(number, mode) == 0 else { throw .last("fchmod") }
    }

    /// Up to `most` bytes from here to the end.
    func readAll(atMost most: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        while bytes.count < most {
            let count = try Self.retrying("read") { read(number, &chunk, min(chunk.count, most - bytes.count)) }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Reads the next bytes and returns their number, 0 at the end.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try Self.retrying("read") { read(number, buffer.baseAddress, buffer.count) }
    }

    /// Writes bytes from here on.
    func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.withUnsafeBytes { bytes in Result { () throws(SystemError) in try writeAll(bytes) } }.get()
    }

    /// Writes bytes from here on.
    func writeAll(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try Self.retrying("write") { write(number, rest.baseAddress, rest.count) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Waits until what was written is on the disk.
    func synchronize() throws(SystemError) {
        _ = try Self.retrying("fsync") { fsync(number) }
    }

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
