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

/// Conformance data outside the package; tests that need a missing folder are skipped.
enum SharedData: String {
    case httpState = "http-state"
    case freshHTTPState = "http-state-fresh"
    case publicSuffix = "public-suffix"
    case urlencoded
    case naughtyStrings = "naughty-strings"
    case linkHeader = "link-header"
    case jsonTestSuite = "jsontestsuite"
    case eventSource = "eventsource-wpt"
    case contentDisposition = "content-disposition"
    case curlQuoting = "curl-quoting"
    case octokit = "octokit-fixtures"
    case cacheTests = "cache-tests"

    var folder: URL {
        URL(filePath: #filePath).appending(path: "../../../../../shared/data/\(rawValue)").standardizedFileURL
    }

    var exists: Bool { FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) }

    func bytes(_ path: String) throws -> Data { try Data(contentsOf: folder.appending(path: path)) }

    func json<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: bytes(path))
    }
}
