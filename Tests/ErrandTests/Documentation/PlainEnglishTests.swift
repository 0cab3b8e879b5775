import Foundation
import Testing

@testable import ErrandTestSupport

@Suite("The documentation is written in plain technical English")
struct PlainEnglishTests {
    /// Phrases that a reader has to interpret, with what to write instead in most places.
    private static let phrases = [
        "one's own": "the app's", "own win": "takes precedence", "hears ": "receives", "what is true of": "describes",
        "indicator says": "shows", "where there is one": "if any", "where there was one": "if any",
        "where there is none": "if there is none", "anybody": "the delegate", "somebody": "another task",
        "nobody": "no delegate", "whoever": "the owner", "no harm": "safe",
    ]

    @Test func `No comment of the library and no article contains a phrase of the list`() throws {
        let root = TypeChecker.root.appending(path: "Sources/Errand")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter {
            $0.hasSuffix(".swift") || $0.hasSuffix(".md")
        }
        #expect(paths.count > 100)
        for path in paths {
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            let lines = text.split(separator: "\n").filter { path.hasSuffix(".md") || $0.contains("///") }
            for (phrase, better) in Self.phrases {
                let line = lines.first { $0.localizedCaseInsensitiveContains(phrase) }
                #expect(line == nil, "\(path): \"\(line ?? "")\"; write \(better)")
            }
        }
    }
}
