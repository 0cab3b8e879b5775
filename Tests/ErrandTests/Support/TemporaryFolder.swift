import Foundation

/// A folder that is removed with the value; at the end of the process if a jar's last save creates it again.
final class TemporaryFolder: Sendable {
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: TemporaryFolder.root) }
        return FileManager.default.temporaryDirectory.appending(path: "errand-tests-\(getpid())")
    }()

    let url = root.appending(path: UUID().uuidString)
    var file: URL { url.appending(path: "cookies.txt") }

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The names of the files in the folder, sorted.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)).sorted() }
    }
}
