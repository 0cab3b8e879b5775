import Foundation

/// A lock between processes that ends with its holder, however that ends.
struct FileLock: ~Copyable {
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
