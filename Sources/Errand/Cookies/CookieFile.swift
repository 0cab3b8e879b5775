import Foundation

/// The location of a jar's file, and of the files next to it that a jar makes.
struct CookieFile: Sendable {
    let url: URL
    let capacity: Int
    let path: String
    /// With a slash at its end.
    let folder: String
    let name: String
    /// A save writes this file and then renames it to ``path``.
    var temporaryPath: String { path + ".errand-tmp" }
    /// Processes lock this empty file to take turns.
    var lockPath: String { path + ".lock" }

    static let memoryMark = "memory-"

    /// `nil` is that of a jar in memory, which ends with its process.
    static func cacheName(of url: URL?) -> String {
        guard let url else { return "\(memoryMark)\(getpid())-\(String.uniqueName)" }
        let path = url.absoluteURL.standardizedFileURL.path(percentEncoded: false)
        let home = NSHomeDirectory() + "/"
        let name = path.hasPrefix(home) ? "~/" + path.dropFirst(home.count) : path
        return Checksum.name(of: Array(name.utf8))
    }

    init(_ url: URL, capacity: Int = 3_300) {
        precondition(url.isFileURL, "a cookie jar's file has a file URL")
        self.url = url.absoluteURL
        self.capacity = capacity
        name = self.url.lastPathComponent
        folder = self.url.deletingLastPathComponent().path(percentEncoded: false)
        path = folder + name
    }

    /// Throws when other users may replace files in the folder.
    func checkFolder() throws(CookieFileError) {
        guard let reason = stat(ofTarget: folder)?.reasonToRefuseFolder else { return }
        throw CookieFileError(.cannotRead, file: url, reason: reason)
    }

    func reporting<Result: ~Copyable>(
        _ kind: CookieFileError.Kind,
        _ body: () throws(SystemError) -> Result
    ) throws(CookieFileError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw CookieFileError(kind, file: url, reason: error.reason)
        }
    }
}

// MARK: Identity

extension CookieFile {
    /// The target of a symbolic link at the file's path is a different file, because the jar never follows the link.
    func isSame(as other: CookieFile) -> Bool {
        if path.utf8.elementsEqual(other.path.utf8) { return true }
        // Before the folders are looked at: a program may have a jar for each of thousands of users.
        guard name.lowercased() == other.name.lowercased() else { return false }
        return location == other.location && (name.utf8.elementsEqual(other.name.utf8) || isSameEntry(as: other))
    }

    /// The nearest existing folder, and the names of the missing ones below it.
    private var location: (folder: [UInt64]?, missing: [Substring]) {
        var (existing, missing) = (folder[...], [Substring]())
        while stat(ofTarget: String(existing)) == nil, let slash = existing.lastIndex(of: "/") {
            missing.append(existing[existing.index(after: slash)...])
            existing = slash > existing.startIndex ? existing[..<slash] : "/"
            if existing == "/" { break }
        }
        var below: [Substring] = []
        for component in missing.reversed() where !component.isEmpty && component != "." {
            // Nothing below the folder exists, so there is no symbolic link that could change what ".." means.
            if component == ".." { _ = below.popLast() } else { below.append(component) }
        }
        return (stat(ofTarget: String(existing))?.identity, below)
    }

    /// A file system may ignore case or Unicode normalization; on Linux, only single folders of some file systems ignore case.
    private func isSameEntry(as other: CookieFile) -> Bool {
        #if canImport(Darwin)
        // -1 when that is unknown.
        if pathconf(folder, _PC_CASE_SENSITIVE) == 0 { return true }
        #endif
        return [(path, other.path), (lockPath, other.lockPath)].contains { one, other in
            let identity = stat(ofEntry: one)?.identity
            return identity != nil && identity == stat(ofEntry: other)?.identity
        }
    }
}

extension stat {
    /// Equal as long as the file is not written, and no other one has its path.
    var version: [UInt64] {
        identity + [UInt64(truncatingIfNeeded: st_size), UInt64(bitPattern: modified.microseconds)]
    }

    var modified: CookieTimestamp {
        let time = modificationTime
        return CookieTimestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}

/// The lock that processes and jars with the same file take turns with.
extension CookieFile {
    /// A save takes about ten milliseconds.
    private static let timeout = Duration.seconds(2)

    /// Creates the file's folder when it is missing; in a folder that other users may write, this throws.
    func withLock<Result>(_ body: () throws(CookieFileError) -> Result) throws(CookieFileError) -> Result {
        try reporting(.cannotWrite) { () throws(SystemError) in try makeFolder(folder) }
        try checkFolder()
        guard let lock = try reporting(.cannotWrite, self.lock) else {
            throw CookieFileError(.locked, file: url, reason: "another process holds the lock")
        }
        let result = try body()
        _ = consume lock
        return result
    }

    /// Creates the lock file, which is never removed; the system unlocks it when it is closed.
    ///
    /// Returns `nil` when another process still holds the lock after the timeout.
    private func lock() throws(SystemError) -> FileDescriptor? {
        let descriptor = try FileDescriptor(opening: lockPath, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        let end = ContinuousClock.now + Self.timeout
        while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .last("flock") }
            guard ContinuousClock.now < end else { return nil }
            usleep(2_000)
        }
        return descriptor
    }

    private func makeFolder(_ path: String) throws(SystemError) {
        guard stat(ofEntry: path) == nil else { return }
        let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if parent.utf8.count < path.utf8.count { try makeFolder(parent) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
    }
}

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
extension CookieFile {
    private enum Entry {
        case bytes([UInt8], modified: CookieTimestamp)
        /// With the reason why it is not a cookie file; `nil` for nothing.
        case unusable(String?)
        /// With the reason, such as that another user could have put it there.
        case refused(String)
    }

    /// With room for comments.
    private var maximumSize: Int { max(32 << 20, Int(clamping: Int64(capacity) * 12_000)) }

    /// Also removes the permissions of other users to read the file.
    ///
    /// A file with the checksum `known` is not parsed; cookies that other programs wrote were created at `date`.
    func read(at date: Date, unlessChecksum known: UInt64? = nil) throws(CookieFileError) -> CookieFileSnapshot {
        try checkFolder()
        switch try reporting(.cannotRead, entry) {
        case .refused(let reason): throw CookieFileError(.cannotRead, file: url, reason: reason)
        case .unusable(let reason): return CookieFileSnapshot(contents: .init(damage: reason))
        case .bytes(let bytes, let modified):
            let checksum = bytes.checksum
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
            let descriptor = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let status = try descriptor.status()
            guard !status.isDevice else { return .refused("it is a device") }
            guard status.isFile else { return .unusable("it is not a file") }
            guard status.isOwnerTrusted else { return .refused("another user owns the file") }
            guard !status.isWritableByOthers else { return .unusable("other users may write it") }
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

/// Writes a cookie file, and keeps damaged ones under another name.
///
/// The entry at the path is replaced by renaming a new file and never written to, so a symbolic link there is never
/// followed.
extension CookieFile {
    func write(_ bytes: [UInt8], to path: String? = nil) throws(CookieFileError) {
        try reporting(.cannotWrite) { () throws(SystemError) in
            try AtomicFile.replace(path ?? self.path, with: bytes, temporary: temporaryPath, folder: folder)
        }
    }
}

// MARK: Damaged files

extension CookieFile {
    /// Keeps a damaged file under the first free `<name>.corrupt-N`, and returns the error to report.
    ///
    /// A file in which cookies were found is copied and stays at its path until a save replaces it, so that its cookies are
    /// on the disk at any time. A file without cookies is renamed.
    func setAside(_ snapshot: CookieFileSnapshot) throws(CookieFileError) -> CookieFileError {
        let names = (1...999).map { "\(name).corrupt-\($0)" }
        guard let free = names.firstIndex(where: { stat(ofEntry: folder + $0) == nil }) else {
            throw CookieFileError(.cannotWrite, file: url, reason: "too many files were set aside")
        }
        var aside = names[free]
        if let bytes = snapshot.damagedBytes, free > 0, isCopy(folder + names[free - 1], of: bytes) {
            // A process that was killed between the copy and the save has left the same copy.
            aside = names[free - 1]
        } else if let bytes = snapshot.damagedBytes {
            try write(bytes, to: folder + aside)
        } else {
            try reporting(.cannotWrite) { () throws(SystemError) in
                guard rename(path, folder + aside) == 0 else { throw .last("rename") }
            }
        }
        let reason = "\(snapshot.contents.damage ?? ""); it is now \(aside)"
        return CookieFileError(.setAside, file: url, reason: reason)
    }

    private func isCopy(_ path: String, of bytes: [UInt8]) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        return (try? FileDescriptor(opening: path, flags).readAll(atMost: bytes.count + 1)) == bytes
    }
}
