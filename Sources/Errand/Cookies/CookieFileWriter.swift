import Foundation

/// Writes a cookie file, and keeps damaged ones under another name.
///
/// The entry at the path is replaced by renaming a new file and never written to, so a symbolic link there is never
/// followed.
struct CookieFileWriter: Sendable {
    let file: CookieFile

    /// Only the owner may read the new file; changes nothing on failure.
    func write(_ bytes: [UInt8]) throws(CookieFileError) { try write(bytes, to: file.path) }

    func remove() { unlink(file.path) }

    /// Whether an interrupted save has left its temporary file.
    var hasTemporaryFile: Bool { FileIdentity(ofEntry: file.temporaryPath) != nil }

    func removeTemporaryFile() { unlink(file.temporaryPath) }

    private func write(_ bytes: [UInt8], to path: String) throws(CookieFileError) {
        try file.reporting(.cannotWrite) { () throws(SystemError) in
            try AtomicFile.replace(path, with: bytes, temporary: file.temporaryPath, folder: file.folder)
        }
    }
}

// MARK: Damaged files

extension CookieFileWriter {
    /// Keeps a damaged file under the first free `<name>.corrupt-N`, and returns the error to report.
    ///
    /// A file in which cookies were found is copied and stays at its path until a save replaces it, so that its cookies are
    /// on the disk at any time. A file without cookies is renamed.
    func setAside(_ snapshot: CookieFileSnapshot) throws(CookieFileError) -> CookieFileError {
        let name = if let bytes = snapshot.damagedBytes { try copyAside(bytes) } else { try renameAside() }
        return CookieFileError(
            .setAside,
            file: file.url,
            reason: "\(snapshot.contents.damage ?? ""); it is now \(name)"
        )
    }

    private func renameAside() throws(CookieFileError) -> String {
        let (_, free) = try corruptNames()
        try file.reporting(.cannotWrite) { () throws(SystemError) in
            guard rename(file.path, file.folder + free) == 0 else { throw .last("rename") }
        }
        return free
    }

    private func copyAside(_ bytes: [UInt8]) throws(CookieFileError) -> String {
        let (last, free) = try corruptNames()
        // A process that was killed between the copy and the save has left the same copy.
        if let last, isFile(at: file.folder + last, equalTo: bytes) { return last }
        try write(bytes, to: file.folder + free)
        return free
    }

    private func corruptNames() throws(CookieFileError) -> (last: String?, free: String) {
        let names = (1...999).map(file.corruptName)
        guard let free = names.firstIndex(where: { FileIdentity(ofEntry: file.folder + $0) == nil }) else {
            throw CookieFileError(.cannotWrite, file: file.url, reason: "too many files were set aside")
        }
        return (free > 0 ? names[free - 1] : nil, names[free])
    }

    private func isFile(at path: String, equalTo bytes: [UInt8]) -> Bool {
        guard let descriptor = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? descriptor.status(), status.st_mode & S_IFMT == S_IFREG,
            Int(status.st_size) == bytes.count
        else { return false }
        return (try? descriptor.readAll(atMost: bytes.count)) == bytes
    }
}
