import Foundation

/// A temporary file that is removed from its folder while it is open, so that no other process can replace it.
///
/// The file can be read at ``path`` until this value is destroyed.
struct UnlinkedFile: ~Copyable {
    /// Where this process can open the file.
    let path: String
    private let descriptor: FileDescriptor
    /// Whether the file is still in its folder.
    private let isLinked: Bool

    /// Creates and writes a file.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - descriptorFolder: The folder in which the system lists the open files of this process, such as `/proc/self/fd`.
    ///     If the file cannot be read there, it stays in the temporary folder until this value is destroyed.
    /// - Throws: Why the file cannot be created or written.
    init(containing bytes: [UInt8], descriptorFolder: String) throws(SystemError) {
        let name = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)").path
        let file = try FileDescriptor(opening: name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do throws(SystemError) {
            try file.writeAll(bytes)
        } catch {
            unlink(name)
            throw error
        }
        let descriptorPath = "\(descriptorFolder)/\(file.number)"
        isLinked = !FileManager.default.isReadableFile(atPath: descriptorPath)
        path = isLinked ? name : descriptorPath
        descriptor = file
        if !isLinked { unlink(name) }
    }

    deinit {
        if isLinked { unlink(path) }
    }
}
