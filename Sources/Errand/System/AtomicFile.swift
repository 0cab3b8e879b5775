import Foundation

/// Replaces files by complete ones, which only their owner may read.
package enum AtomicFile {
    /// Replaces the file at `path` by one with these bytes and mode 0600, or changes nothing.
    ///
    /// The bytes are on the disk before the new file has its name. The entry at the path is never written to, so a symbolic
    /// link there is replaced and not followed. The temporary file, in the same folder, must not exist.
    package static func replace(
        _ path: String,
        with bytes: [UInt8],
        temporary: String,
        folder: String
    ) throws(SystemError) {
        do throws(SystemError) {
            try create(temporary, with: bytes)
            guard rename(temporary, path) == 0 else { throw SystemError.last("rename") }
            try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY).synchronize()
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static func create(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let descriptor = try FileDescriptor(opening: path, flags, mode: 0o600)
        // The umask may have removed permissions of the owner.
        try descriptor.setMode(0o600)
        try descriptor.writeAll(bytes)
        try descriptor.synchronize()
    }
}
