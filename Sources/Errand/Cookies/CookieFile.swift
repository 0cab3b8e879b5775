import Foundation

/// The file of a jar and its neighbours: the lock, the temporary file of a save, and what was set aside.
///
/// What is at the path is replaced by renaming and never written to, so a symbolic link there is never followed.
struct CookieFile: Sendable {
    /// What was read from the path.
    struct Found {
        var contents = CookieFileFormat.Contents()
        /// The checksum of the file; `nil` when there is none, or a damaged one.
        var checksum: UInt64?
        /// When the file was last written, by whatever tool.
        var modified = CookieStamp.never
        /// The file as it is, when it is damaged and cookies were found in it.
        fileprivate var salvaged: [UInt8]?

        var isDamaged: Bool { contents.damage != nil }
        /// Whether a file is still there that a save has to replace.
        var isInPlace: Bool { checksum != nil || salvaged != nil }
    }

    private enum Reading {
        case nothing
        case bytes([UInt8], modified: CookieStamp)
        /// Something that is no cookie file, for the reason given.
        case unusable(String)
        /// What another user could have put there, for the reason given.
        case refused(String)
    }

    /// How long another process may hold the lock; a save takes some ten milliseconds.
    private static let lockPatience = Duration.seconds(2)

    let url: URL
    let path: String
    /// The path of the folder, with a slash at its end.
    let folder: String
    let name: String
    /// How many cookies its jar holds.
    let capacity: Int
    /// More than that many cookies take, whatever their size.
    private var mostBytes: Int { max(32 << 20, capacity * 6_000) }
    private var temporaryPath: String { path + ".errand-tmp" }

    init(_ url: URL, capacity: Int) {
        precondition(url.isFileURL, "a cookie jar's file has a file URL")
        self.url = url.absoluteURL
        self.capacity = capacity
        name = self.url.lastPathComponent
        folder = self.url.deletingLastPathComponent().path(percentEncoded: false)
        path = folder + name
    }

    /// Does `body` while no other process is in it.
    ///
    /// Nothing is made in a folder that is not trusted.
    func locked<Result>(_ body: () throws(CookieFileError) -> Result) throws(CookieFileError) -> Result {
        let lock = try takeLock()
        let result = try body()
        _ = consume lock
        return result
    }

    private func takeLock() throws(CookieFileError) -> FileLock {
        do throws(SystemError) { try makeFolder(folder) } catch { throw failure(.cannotWrite, error) }
        try checkFolder()
        do throws(SystemError) {
            if let lock = try FileLock.take(path + ".lock", patience: Self.lockPatience) { return lock }
        } catch {
            throw failure(.cannotWrite, error)
        }
        throw CookieFileError(.locked, url, "another process holds the lock")
    }

    private func makeFolder(_ path: String) throws(SystemError) {
        guard !exists(path) else { return }
        let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if parent.utf8.count < path.utf8.count { try makeFolder(parent) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
    }

    /// Refuses a folder in which other users can put files of their choice in the place of this one.
    private func checkFolder() throws(CookieFileError) {
        guard let reason = FileTrust(at: folder)?.reasonAgainstFolder else { return }
        throw CookieFileError(.cannotRead, url, reason)
    }

    private func exists(_ path: String) -> Bool { FileIdentity(ofEntry: path) != nil }

    private func failure(_ kind: CookieFileError.Kind, _ error: SystemError) -> CookieFileError {
        CookieFileError(kind, url, error.reason)
    }
}

// MARK: Reading

extension CookieFile {
    /// Whether a save was cut short and has left its temporary file.
    var hasTemporary: Bool { exists(temporaryPath) }

    func removeTemporary() { unlink(temporaryPath) }

    /// Reads the file, unless `known` is its checksum, and takes from others the right to read it.
    func find(at date: Date, known: UInt64? = nil) throws(CookieFileError) -> Found {
        switch try read() {
        case .nothing: return Found()
        case .refused(let reason): throw CookieFileError(.cannotRead, url, reason)
        case .unusable(let reason): return Found(contents: .init(damage: reason))
        case .bytes(let bytes, let modified):
            let checksum = CookieFileFormat.checksum(bytes)
            guard checksum != known else { return Found(checksum: known) }
            let contents = CookieFileFormat.decode(bytes, atMost: 3 * max(3_300, capacity), at: date)
            let isDamaged = contents.damage != nil
            return Found(
                contents: contents,
                checksum: isDamaged ? nil : checksum,
                modified: modified,
                salvaged: isDamaged && !contents.isEmpty ? bytes : nil
            )
        }
    }

    private func read() throws(CookieFileError) -> Reading {
        try checkFolder()
        do throws(SystemError) {
            return try readFile()
        } catch {
            if error.number == ENOENT { return .nothing }
            if error.number == ELOOP { return .unusable("a symbolic link stands in its place") }
            throw failure(.cannotRead, error)
        }
    }

    private func readFile() throws(SystemError) -> Reading {
        // Without O_NONBLOCK, a pipe in the file's place would wait for a writer.
        let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { return .unusable("it is not a file") }
        let trust = FileTrust(status)
        guard trust.isOwned else { return .refused("another user owns the file") }
        guard !trust.canBeChangedByOthers else { return .unusable("other users may write it") }
        guard status.st_size <= mostBytes else { return .unusable("it is too large") }
        if status.st_mode & 0o077 != 0 { try? file.setMode(0o600) }
        return .bytes(try file.readAll(atMost: mostBytes), modified: CookieStamp(status.modified))
    }
}

extension stat {
    /// When the file was last written.
    fileprivate var modified: Date {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}

// MARK: Damage

extension CookieFile {
    /// Keeps what is damaged under the first free `<name>.corrupt-N`.
    ///
    /// Cookies that were found in it must be on the disk before it goes from its place; so the file is copied, and stays
    /// until a save replaces it. What holds none is renamed.
    func setAside(_ found: Found) throws(CookieFileError) -> CookieFileError {
        let name = if let bytes = found.salvaged { try copyAside(bytes) } else { try renameAside() }
        return CookieFileError(.setAside, url, "\(found.contents.damage ?? ""); it is now \(name)")
    }

    private func renameAside() throws(CookieFileError) -> String {
        let (_, free) = try asideNames()
        guard rename(path, folder + free) == 0 else { throw failure(.cannotWrite, .last("rename")) }
        return free
    }

    private func copyAside(_ bytes: [UInt8]) throws(CookieFileError) -> String {
        let (last, free) = try asideNames()
        // A process that died between the copy and the save has left the same copy.
        if let last, has(bytes, at: folder + last) { return last }
        try write(bytes, to: folder + free)
        return free
    }

    private func asideNames() throws(CookieFileError) -> (last: String?, free: String) {
        let names = (1...999).map { "\(name).corrupt-\($0)" }
        guard let free = names.firstIndex(where: { !exists(folder + $0) }) else {
            throw CookieFileError(.cannotWrite, url, "too many files were set aside")
        }
        return (free > 0 ? names[free - 1] : nil, names[free])
    }

    private func has(_ bytes: [UInt8], at path: String) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, Int(status.st_size) == bytes.count
        else { return false }
        return (try? file.readAll(atMost: bytes.count)) == bytes
    }
}

// MARK: Writing

extension CookieFile {
    /// Puts a file of these bytes, readable by its owner alone, in the place of the old one, or changes nothing.
    func write(_ bytes: [UInt8]) throws(CookieFileError) { try write(bytes, to: path) }

    func remove() { unlink(path) }

    private func write(_ bytes: [UInt8], to path: String) throws(CookieFileError) {
        do throws(SystemError) {
            try writeTemporary(bytes)
            guard rename(temporaryPath, path) == 0 else { throw SystemError.last("rename") }
            try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY).synchronize()
        } catch {
            unlink(temporaryPath)
            throw failure(.cannotWrite, error)
        }
    }

    private func writeTemporary(_ bytes: [UInt8]) throws(SystemError) {
        let file = try FileDescriptor(opening: temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        // A umask may have taken rights from the owner too.
        try file.setMode(0o600)
        try file.writeAll(bytes)
        try file.synchronize()
    }
}

/// A lock between processes that ends with its holder, however that ends.
private struct FileLock: ~Copyable {
    private let descriptor: FileDescriptor

    /// Takes the lock on the file at `path`, which is made when it is missing and never removed.
    ///
    /// - Returns: `nil` when another holds it for longer than `patience`.
    static func take(_ path: String, patience: Duration) throws(SystemError) -> FileLock? {
        let descriptor = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        let end = ContinuousClock.now + patience
        while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .last("flock") }
            guard ContinuousClock.now < end else { return nil }
            usleep(2_000)
        }
        return FileLock(descriptor: descriptor)
    }
}
