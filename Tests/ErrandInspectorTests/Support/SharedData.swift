import Foundation

/// Conformance data outside the package; tests that need a missing folder are skipped.
enum SharedData: String {
    case harSchema = "har-schema"
    case naughtyStrings = "naughty-strings"

    var folder: URL {
        URL(filePath: #filePath).appending(path: "../../../../../shared/data/\(rawValue)").standardizedFileURL
    }

    var exists: Bool { FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) }

    /// The strings of https://github.com/minimaxir/big-list-of-naughty-strings; none if they are not here.
    static func strings() throws -> [String] {
        guard naughtyStrings.exists else { return [] }
        return try JSONDecoder().decode(
            [String].self,
            from: Data(contentsOf: naughtyStrings.folder.appending(path: "blns.json"))
        )
    }
}
