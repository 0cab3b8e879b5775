import Foundation

/// The file of a jar and its neighbours: the lock, the temporary file of a save, and what was set aside.
///
/// What stands at the path is replaced by renaming and never written to, so a symbolic link there is never followed.
struct CookieFile: Sendable {
    /// 3,300 cookies of the greatest size take less.
    static let mostBytes = 32 << 20

    let url: URL
    let path: String
    private let lockPatience: Duration

    private var temporaryPath: String { path + ".errand-tmp" }
    private var directory: String { url.deletingLastPathComponent().path(percentEncoded: false) }

    init(_ url: URL, lockPatience: Duration = .seconds(2)) {
        precondition(url.isFileURL, "a cookie jar's file has a file URL")
        self.url = url.absoluteURL
        self.path = self.url.path(percentEncoded: false)
        self.lockPatience = lockPatience
    }

    /// What stands at the path.
    private enum Reading {
        case nothing
        case bytes([UInt8])
        /// Something that is no cookie file, for the reason given.
        case unusable(String)
    }

    /// What was read from the path.
    struct Found {
        var cookies: [Cookie] = []
        /// The checksum of the file; `nil` when there is none, or a damaged one.
        var checksum: UInt64?
        var damage: String?
        var problems: [CookieFileError] = []
    }

    /// Reads the file, unless `known` is its checksum, and takes from others the right to read it.
    func find(at date: Date, known: UInt64? = nil) throws(CookieFileError) -> Found {
        switch try read() {
        case .nothing: return Found()
        case .unusable(let reason): return Found(damage: reason)
        case .bytes(let bytes):
            let checksum = CookieFileFormat.checksum(bytes)
            guard checksum != known else { return Found(checksum: known) }
            let contents = CookieFileFormat.decode(bytes, at: date)
            guard contents.damage == nil else { return Found(cookies: contents.cookies, damage: contents.damage) }
            return Found(cookies: contents.cookies, checksum: checksum)
        }
    }

    /// Reads the file under the lock, where what an earlier save left can be removed and what is damaged set aside.
    func findTidily(at date: Date, known: UInt64? = nil) throws(CookieFileError) -> Found {
        unlink(temporaryPath)
        var found = try find(at: date, known: known)
        guard let damage = found.damage else { return found }
        let name = try setAside()
        found.problems = [CookieFileError(.setAside, url, "\(damage); it is now \(name)")]
        return found
    }

    private func read() throws(CookieFileError) -> Reading {
        do throws(SystemError) {
            return try readFile()
        } catch {
            if error.number == ENOENT { return .nothing }
            if error.number == ELOOP { return .unusable("a symbolic link stands in its place") }
            throw CookieFileError(.cannotRead, url, error.reason)
        }
    }

    private func readFile() throws(SystemError) -> Reading {
        // Without O_NONBLOCK, a pipe in the file's place would wait for a writer.
        let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { return .unusable("it is not a file") }
        guard status.st_size <= Self.mostBytes else { return .unusable("it is too large") }
        if status.st_mode & 0o077 != 0 { try? file.setMode(0o600) }
        return .bytes(try file.readAll(atMost: Self.mostBytes))
    }

    /// Does `body` while no other process is in it.
    func locked<Result>(_ body: () throws(CookieFileError) -> Result) throws(CookieFileError) -> Result {
        let lock = try takeLock()
        let result = try body()
        _ = consume lock
        return result
    }

    private func takeLock() throws(CookieFileError) -> FileLock {
        do throws(SystemError) {
            try makeDirectory(directory)
            if let lock = try FileLock.take(path + ".lock", patience: lockPatience) { return lock }
        } catch {
            throw CookieFileError(.cannotWrite, url, error.reason)
        }
        throw CookieFileError(.locked, url, "another process holds the lock")
    }

    /// Whether a save was cut short and has left its temporary file.
    var hasTemporary: Bool { exists(temporaryPath) }

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

    /// Renames what stands at the path to the first free `<name>.corrupt-N`.
    private func setAside() throws(CookieFileError) -> String {
        let names = (1...999).lazy.map { "\(url.lastPathComponent).corrupt-\($0)" }
        guard let free = names.first(where: { !exists(directory + "/" + $0) }) else {
            throw CookieFileError(.cannotWrite, url, "too many files were set aside")
        }
        guard rename(path, directory + "/" + free) == 0 else {
            throw CookieFileError(.cannotWrite, url, SystemError.last("rename").reason)
        }
        return free
    }

    func remove() { unlink(path) }

    private func writeTemporary(_ bytes: [UInt8]) throws(SystemError) {
        let file = try FileDescriptor(opening: temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        try file.setMode(0o600)
        try file.writeAll(bytes)
        try file.synchronize()
    }

    private func synchronizeDirectory() throws(SystemError) {
        try FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY).synchronize()
    }

    private func makeDirectory(_ path: String) throws(SystemError) {
        guard !exists(path) else { return }
        let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if parent.utf8.count < path.utf8.count { try makeDirectory(parent) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
