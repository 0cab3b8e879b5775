import Foundation

/// A folder that is removed with the value, and with the process where a jar's last save makes it anew.
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

    /// What the folder holds, in order.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)).sorted() }
    }
}
