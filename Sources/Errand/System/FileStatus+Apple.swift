#if canImport(Darwin)
import Darwin

// Untested.
extension stat {
    /// When the file was last written, since 1970.
    var modificationTime: timespec { st_mtimespec }
}

/// Properties of file systems.
enum FileSystem {
    /// Returns whether names in the folder are compared without case (`pathconf(2)`); `false` when that is unknown.
    static func ignoresCase(in folder: String) -> Bool { pathconf(folder, _PC_CASE_SENSITIVE) == 0 }
}
#endif
