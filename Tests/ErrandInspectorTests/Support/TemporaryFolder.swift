import Foundation

/// A folder that is removed with the value.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "errand-inspector-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String) -> URL { url.appending(path: name) }

    /// The names of the files in the folder, sorted.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)).sorted() }
    }
}
