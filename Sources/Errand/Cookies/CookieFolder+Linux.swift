#if os(Linux)
import Foundation

extension CookieJar {
    /// XDG Base Directory Specification 0.8.
    static var stateFolder: URL {
        let folder = ProcessInfo.processInfo.environment["XDG_STATE_HOME"] ?? ""
        guard folder.hasPrefix("/") else { return .homeDirectory.appending(path: ".local/state") }
        return URL(filePath: folder, directoryHint: .isDirectory)
    }
}
#endif
