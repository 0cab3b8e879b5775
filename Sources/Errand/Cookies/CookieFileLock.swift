import Foundation

/// The lock that processes and jars with the same file take turns with.
struct CookieFileLock: Sendable {
    /// A save takes about ten milliseconds.
    private static let timeout = Duration.seconds(2)

    let file: CookieFile

    /// Creates the file's folder when it is missing; in a folder that other users may write, this throws.
    func withLock<Result>(_ body: () throws(CookieFileError) -> Result) throws(CookieFileError) -> Result {
        let lock = try acquire()
        let result = try body()
        _ = consume lock
        return result
    }

    private func acquire() throws(CookieFileError) -> FileDescriptor {
        try file.reporting(.cannotWrite) { () throws(SystemError) in try makeFolder(file.folder) }
        try file.checkFolder()
        if let lock = try file.reporting(.cannotWrite, lock) { return lock }
        throw CookieFileError(.locked, file: file.url, reason: "another process holds the lock")
    }

    /// Creates the lock file, which is never removed; the system unlocks it when it is closed.
    ///
    /// Returns `nil` when another process still holds the lock after the timeout.
    private func lock() throws(SystemError) -> FileDescriptor? {
        let descriptor = try FileDescriptor(opening: file.lockPath, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        let end = ContinuousClock.now + Self.timeout
        while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .last("flock") }
            guard ContinuousClock.now < end else { return nil }
            usleep(2_000)
        }
        return descriptor
    }

    private func makeFolder(_ path: String) throws(SystemError) {
        guard FileIdentity(ofEntry: path) == nil else { return }
        let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if parent.utf8.count < path.utf8.count { try makeFolder(parent) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
    }
}
