import Foundation

/// A file in a separate folder, which is removed with the value.
final class TemporaryFile: Sendable {
    private let folder: TemporaryFolder
    var url: URL { folder.url.appending(path: "file") }

    init(_ data: Data) throws {
        folder = try TemporaryFolder()
        try data.write(to: url)
    }

    /// Creates a file of this many zeros, which take no space on the disk.
    convenience init(zeros: UInt64) throws {
        try self.init(Data())
        try truncate(to: zeros)
    }

    /// Sets the length of the file.
    func truncate(to count: UInt64) throws {
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: count)
        try handle.close()
    }

    /// The names of the files in its folder.
    func namesInFolder() throws -> [String] { try folder.names }
}
