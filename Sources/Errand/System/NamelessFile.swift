import Foundation

/// A temporary file that has lost its name, so that nobody can take it away; it is read at ``path`` while this lives.
struct NamelessFile: ~Copyable {
    /// Where this process finds the file.
    let path: String
    private let descriptor: FileDescriptor
    private let hasName: Bool

    /// Writes a file.
    ///
    /// - Parameters:
    ///   - bytes: What it holds.
    ///   - openFiles: The folder in which the system shows the open files of this process; without it, the file keeps its
    ///     name.
    /// - Throws: Why there can be no such file.
    init(holding bytes: [UInt8], shownIn openFiles: String) throws(SystemError) {
        let name = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)").path
        let file = try FileDescriptor(opening: name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do throws(SystemError) {
            try file.writeAll(bytes)
        } catch {
            unlink(name)
            throw error
        }
        let shown = "\(openFiles)/\(file.number)"
        hasName = !FileManager.default.isReadableFile(atPath: shown)
        path = hasName ? name : shown
        descriptor = file
        if !hasName { unlink(name) }
    }

    deinit {
        if hasName { unlink(path) }
    }
}
