import Foundation

/// What tells one file or folder from another, however its path is spelled.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let number: UInt64

    /// `nil` when nothing is at the path, where a symbolic link counts as itself.
    init?(ofEntry path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// `nil` when the path leads nowhere.
    init?(ofTarget path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }
}
