#if os(Linux)
import Foundation

extension stat {
    /// When the file was last written, since 1970.
    var modificationTime: timespec { st_mtim }
}

/// Properties of file systems.
enum FileSystem {
    /// Returns `false`: only single folders of some file systems ignore case.
    static func ignoresCase(in folder: String) -> Bool { false }
}
#endif
