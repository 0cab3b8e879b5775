import Foundation

/// A folder for the files of one run.
struct TemporaryFolder {
    let url: URL

    /// Creates a folder that only the current user can read.
    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "errand-shop-\(UUID().uuidString)")
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true, attributes: attributes)
    }

    /// Returns the URL of a file with this name, which need not exist.
    func file(_ name: String) -> URL { url.appending(path: name) }

    /// Removes the folder and everything in it.
    func remove() { try? FileManager.default.removeItem(at: url) }
}
