import Foundation

/// The state of a cookie file when it was read.
struct CookieFileSnapshot {
    var contents = CookieFileFormat.Contents()
    /// The checksum of the file; `nil` when there is no file, or a damaged one.
    var checksum: UInt64?
    /// When the file was last written, by any program.
    var modified = CookieTimestamp.never
    /// All bytes of a damaged file in which cookies were found.
    var damagedBytes: [UInt8]?

    var isDamaged: Bool { contents.damage != nil }
    /// Whether there is a file at the path that a save has to replace.
    var hasFile: Bool { checksum != nil || damagedBytes != nil }
}

/// Reads a cookie file, unless another user could have chosen its contents.
struct CookieFileReader: Sendable {
    private enum Entry {
        case missing
        case bytes([UInt8], modified: CookieTimestamp)
        /// Something other than a cookie file, with the reason.
        case unusable(String)
        /// A file that another user could have put there, with the reason.
        case refused(String)
    }

    let file: CookieFile
    /// How many cookies the jar holds.
    let capacity: Int
    /// An upper bound of the size of that many cookies and as many removals.
    private var maximumSize: Int { max(32 << 20, capacity * 12_000) }

    /// Reads the file, and removes the permissions of other users to read it.
    ///
    /// - Parameters:
    ///   - date: The creation time of cookies that other programs wrote.
    ///   - known: The checksum of the file as the caller knows it; a file with this checksum is not parsed.
    /// - Returns: The file's contents; empty contents when there is no file.
    /// - Throws: ``CookieFileError/Kind/cannotRead``.
    func read(at date: Date, unlessChecksum known: UInt64? = nil) throws(CookieFileError) -> CookieFileSnapshot {
        switch try readEntry() {
        case .missing: return CookieFileSnapshot()
        case .refused(let reason): throw CookieFileError(.cannotRead, file: file.url, reason: reason)
        case .unusable(let reason): return CookieFileSnapshot(contents: .init(damage: reason))
        case .bytes(let bytes, let modified):
            let checksum = CookieFileFormat.checksum(bytes)
            guard checksum != known else { return CookieFileSnapshot(checksum: known) }
            let contents = CookieFileFormat.decode(bytes, limit: 3 * max(3_300, capacity), at: date)
            let isDamaged = contents.damage != nil
            return CookieFileSnapshot(
                contents: contents,
                checksum: isDamaged ? nil : checksum,
                modified: modified,
                damagedBytes: isDamaged && !contents.isEmpty ? bytes : nil
            )
        }
    }

    private func readEntry() throws(CookieFileError) -> Entry {
        try file.checkFolder()
        do throws(SystemError) {
            return try openAndRead()
        } catch {
            if error.number == ENOENT { return .missing }
            if error.number == ELOOP { return .unusable("it is a symbolic link") }
            throw file.error(.cannotRead, causedBy: error)
        }
    }

    private func openAndRead() throws(SystemError) -> Entry {
        // Without O_NONBLOCK, a pipe at the path would wait for a writer.
        let descriptor = try FileDescriptor(opening: file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try descriptor.status()
        guard status.st_mode & S_IFMT == S_IFREG else { return .unusable("it is not a file") }
        let permissions = FilePermissions(status)
        guard permissions.isOwnerTrusted else { return .refused("another user owns the file") }
        guard !permissions.isWritableByOthers else { return .unusable("other users may write it") }
        guard status.st_size <= maximumSize else { return .unusable("it is too large") }
        if status.st_mode & 0o077 != 0 { try? descriptor.setMode(0o600) }
        return .bytes(try descriptor.readAll(atMost: maximumSize), modified: CookieTimestamp(status.modified))
    }
}

extension stat {
    /// When the file was last written.
    fileprivate var modified: Date {
        let time = modificationTime
        return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}
