import Foundation

enum FileSystem {
    /// Returns whether names in the folder are compared without case (`pathconf(2)`); `false` when that is unknown, and on Linux,
    /// where only single folders of some file systems ignore case.
    static func ignoresCase(in folder: String) -> Bool {
        #if canImport(Darwin)
        return pathconf(folder, _PC_CASE_SENSITIVE) == 0
        #else
        return false
        #endif
    }
}

extension stat {
    /// When the file was last written, since 1970.
    var modificationTime: timespec {
        #if canImport(Darwin)
        return st_mtimespec
        #else
        return st_mtim
        #endif
    }
}
