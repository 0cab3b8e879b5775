import Foundation

/// The file of a jar and its neighbours: the lock, the temporary file of a save, and what was set aside.
///
/// What stands at the path is replaced by renaming and never written to, so a symbolic link there is never followed.
struct CookieFile: Sendable {
    /// How long another process may hold the lock; a save takes some ten milliseconds.
    private static let lockPatience = Duration.seconds(2)

    let url: URL
    let path: String
    /// How many cookies its jar holds.
    let capacity: Int
    /// More than that many cookies take, whatever their size.
    var mostBytes: Int { max(32 << 20, capacity * 6_000) }
    var temporaryPath: String { path + ".errand-tmp" }
    var directory: String { url.deletingLastPathComponent().path(percentEncoded: false) }

    init(_ url: URL, capacity: Int) {
        precondition(url.isFileURL, "a cookie jar's file has a file URL")
        self.url = url.absoluteURL
        self.capacity = capacity
        path = self.url.path(percentEncoded: false)
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
            if let lock = try FileLock.take(path + ".lock", patience: Self.lockPatience) { return lock }
        } catch {
            throw CookieFileError(.cannotWrite, url, error.reason)
        }
        throw CookieFileError(.locked, url, "another process holds the lock")
    }

    private func makeDirectory(_ path: String) throws(SystemError) {
        guard !exists(path) else { return }
        let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if parent.utf8.count < path.utf8.count { try makeDirectory(parent) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
    }

    /// Whether anything stands at the path, a broken link included.
    func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
