import Foundation

/// Conformance data outside the package; tests that need a missing folder are skipped.
enum SharedData: String {
    case httpState = "http-state"
    case freshHTTPState = "http-state-fresh"
    case publicSuffix = "public-suffix"
    case urlencoded
    case naughtyStrings = "naughty-strings"
    case linkHeader = "link-header"
    case jsonTestSuite = "jsontestsuite"
    case curlQuoting = "curl-quoting"
    case octokit = "octokit-fixtures"

    var folder: URL {
        URL(filePath: #filePath).appending(path: "../../../../../shared/data/\(rawValue)").standardizedFileURL
    }

    var exists: Bool { FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) }

    func bytes(_ path: String) throws -> Data { try Data(contentsOf: folder.appending(path: path)) }

    func json<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: bytes(path))
    }
}
