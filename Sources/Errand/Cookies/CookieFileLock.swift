import Foundation

/// The lock that processes and jars with the same file take turns with.
struct CookieFileLock: Sendable {
    /// The longest wait for another process; a save takes about ten milliseconds.
    private static let timeout = Duration.seconds(2)

    let file: CookieFile

    /// Runs `body` while no other process or jar holds the lock; the file's folder is created when it is missing.
    ///
    /// In a folder that other users may write, no lock file is made, and this throws.
    func withLock<Result>(_ body: () throws(CookieFileError) -> Result) throws(CookieFileError) -> Result {
        let lock = try acquire()
        let result = try body()
        _ = consume lock
        return result
    }

    private func acquire() throws(CookieFileError) -> LockedFile {
        do throws(SystemError) {
            try makeFolder(file.folder)
        } catch {
            throw file.error(.cannotWrite, causedBy: error)
        }
        try file.checkFolder()
        do throws(SystemError) {
            if let lock = try LockedFile.lock(file.lockPath, timeout: Self.timeout) { return lock }
        } catch {
            throw file.error(.cannotWrite, causedBy: error)
        }
        throw CookieFileError(.locked, file: file.url, reason: "another process holds the lock")
    }

    private func makeFolder(_ path: String) throws(SystemError) {
        guard FileIdentity(ofEntry: path) == nil else { return }
        let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if parent.utf8.count < path.utf8.count { try makeFolder(parent) }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
    }
}

/// A locked file; the system releases the lock when the file is closed or the process ends.
private struct LockedFile: ~Copyable {
    private let descriptor: FileDescriptor

    /// Locks the file at `path`, which is created when it is missing and never removed.
    ///
    /// - Returns: `nil` when another process still holds the lock after `timeout`.
    static func lock(_ path: String, timeout: Duration) throws(SystemError) -> LockedFile? {
        let descriptor = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        let end = ContinuousClock.now + timeout
        while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw .last("flock") }
            guard ContinuousClock.now < end else { return nil }
            usleep(2_000)
        }
        return LockedFile(descriptor: descriptor)
    }
}
