import Foundation

/// A file in a folder of its own, which goes with it.
final class TemporaryFile: Sendable {
    private let folder: TemporaryFolder
    var url: URL { folder.url.appending(path: "file") }

    init(_ data: Data) throws {
        folder = try TemporaryFolder()
        try data.write(to: url)
    }

    /// A file of this many zeros, which take no room on the disk.
    convenience init(zeros: UInt64) throws {
        try self.init(Data())
        try truncate(to: zeros)
    }

    /// Makes the file this long.
    func truncate(to count: UInt64) throws {
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: count)
        try handle.close()
    }

    /// The names in the file's folder.
    func siblings() throws -> [String] { try folder.names }
}
