import Foundation

enum FileSystem {
    /// `pathconf(2)`; `false` when that is unknown, and on Linux, where only single folders of some file systems ignore case.
    static func ignoresCase(in folder: String) -> Bool {
        #if canImport(Darwin)
        return pathconf(folder, _PC_CASE_SENSITIVE) == 0
        #else
        return false
        #endif
    }
}

extension stat {
    var modificationTime: timespec {
        #if canImport(Darwin)
        return st_mtimespec
        #else
        return st_mtim
        #endif
    }
}
