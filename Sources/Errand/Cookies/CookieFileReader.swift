import Foundation

struct CookieFileSnapshot {
    var contents = CookieFileFormat.Contents()
    /// `nil` when there is no file, or a damaged one.
    var checksum: UInt64?
    var modified = CookieTimestamp.never
    /// Only where cookies were found.
    var damagedBytes: [UInt8]?

    var isDamaged: Bool { contents.damage != nil }
    var hasFile: Bool { checksum != nil || damagedBytes != nil }
}

/// Reads a cookie file, unless another user could have chosen its contents.
struct CookieFileReader: Sendable {
    private enum Entry {
        case bytes([UInt8], modified: CookieTimestamp)
        /// With the reason why it is not a cookie file; `nil` for nothing.
        case unusable(String?)
        /// Another user could have put it there.
        case refused
    }

    let file: CookieFile
    let capacity: Int
    /// With room for comments.
    private var maximumSize: Int { max(32 << 20, capacity * 12_000) }

    /// Also removes the permissions of other users to read the file.
    ///
    /// A file with the checksum `known` is not parsed; cookies that other programs wrote were created at `date`.
    func read(at date: Date, unlessChecksum known: UInt64? = nil) throws(CookieFileError) -> CookieFileSnapshot {
        try file.checkFolder()
        switch try file.reporting(.cannotRead, entry) {
        case .refused: throw CookieFileError(.cannotRead, file: file.url, reason: "another user owns the file")
        case .unusable(let reason): return CookieFileSnapshot(contents: .init(damage: reason))
        case .bytes(let bytes, let modified):
            let checksum = CookieFileFormat.checksum(bytes)
            guard checksum != known else { return CookieFileSnapshot(checksum: known) }
            let contents = CookieFileFormat.decode(bytes, limit: 2 * max(3_300, capacity), at: date)
            let isDamaged = contents.damage != nil
            return CookieFileSnapshot(
                contents: contents,
                checksum: isDamaged ? nil : checksum,
                modified: modified,
                damagedBytes: isDamaged && !contents.isEmpty ? bytes : nil
            )
        }
    }

    private func entry() throws(SystemError) -> Entry {
        do throws(SystemError) {
            // Without O_NONBLOCK, a pipe at the path would wait for a writer.
            let descriptor = try FileDescriptor(opening: file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let status = try descriptor.status()
            guard status.st_mode & S_IFMT == S_IFREG else { return .unusable("it is not a file") }
            let permissions = FilePermissions(status)
            guard permissions.isOwnerTrusted else { return .refused }
            guard !permissions.isWritableByOthers else { return .unusable("other users may write it") }
            guard status.st_size <= maximumSize else { return .unusable("it is too large") }
            if status.st_mode & 0o077 != 0 { try? descriptor.setMode(0o600) }
            return .bytes(try descriptor.readAll(atMost: maximumSize), modified: status.modified)
        } catch {
            if error.number == ENOENT { return .unusable(nil) }
            if error.number == ELOOP { return .unusable("it is a symbolic link") }
            throw error
        }
    }
}
