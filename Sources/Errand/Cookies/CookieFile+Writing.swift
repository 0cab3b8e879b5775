import Foundation

extension CookieFile {
    /// Puts a file of these bytes, readable by its owner alone, in the place of the old one, or changes nothing.
    func write(_ bytes: [UInt8]) throws(CookieFileError) {
        do throws(SystemError) {
            try writeTemporary(bytes)
            guard rename(temporaryPath, path) == 0 else { throw SystemError.last("rename") }
            try synchronizeDirectory()
        } catch {
            unlink(temporaryPath)
            throw CookieFileError(.cannotWrite, url, error.reason)
        }
    }

    func remove() { unlink(path) }

    private func writeTemporary(_ bytes: [UInt8]) throws(SystemError) {
        let file = try FileDescriptor(opening: temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        // A umask may have taken rights from the owner too.
        try file.setMode(0o600)
        try file.writeAll(bytes)
        try file.synchronize()
    }

    private func synchronizeDirectory() throws(SystemError) {
        try FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY).synchronize()
    }
}
