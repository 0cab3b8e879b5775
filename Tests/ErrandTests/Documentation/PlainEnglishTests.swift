import Foundation
import Testing

@testable import ErrandTestSupport

@Suite("Comments and documents are written in plain technical English")
struct PlainEnglishTests {
    /// Words and phrases that a reader has to interpret, with what to write instead in most places.
    private static let phrases: [(pattern: String, better: String)] = [
        (#"\b(tells?|told)\b"#, "reports, notifies, returns"), (#"\b(hears?|heard)\b"#, "receives"),
        (#"\b(stands?|stood)\b"#, "is"), (#"\bcomes? by\b"#, "gets, occurs"), (#"\bhas its say\b"#, "decides"),
        (#"\b(somebody|nobody|anybody|whoever|whom)\b"#, "the delegate, another task, no load"),
        (#"\bwish(es)?\b"#, "requests"), (#"\bof (one's|its|your|their|his|her|my) own\b"#, "separate, another"),
        (#"\bown win\b"#, "takes precedence"), (#"\bwhat is true of\b"#, "describes"),
        (#"\bindicator says\b"#, "shows"), (#"\bwhere there (is|was) (one|none)\b"#, "if any"),
        (#"\bno harm\b"#, "safe"),
    ]

    /// The comments of a source, or the lines of a document.
    private static func prose(of path: String, _ text: String) -> [Substring] {
        let lines = text.split(separator: "\n")
        guard !path.hasSuffix(".md") else { return lines }
        return lines.compactMap { line in line.range(of: "//").map { line[$0.lowerBound...] } }
    }

    private static func violations(in path: String, _ text: String) throws -> [String] {
        let lines = prose(of: path, text)
        return try phrases.compactMap { pattern, better in
            let regex = try Regex(pattern).ignoresCase()
            guard let line = lines.first(where: { $0.contains(regex) }) else { return nil }
            return "\(path): \"\(line.trimmingCharacters(in: .whitespaces))\"; write \(better)"
        }
    }

    @Test(arguments: ["Sources", "Tests", "README.md", "CHANGELOG.md", ".github"])
    func `No comment and no document contains a phrase of the list`(_ part: String) throws {
        let url = TypeChecker.root.appending(path: part)
        let isFile = url.pathExtension == "md"
        let paths = isFile ? [] : try FileManager.default.subpathsOfDirectory(atPath: url.path)
        let files = isFile ? [url] : paths.map { url.appending(path: $0) }
        for file in files where ["swift", "md", "c", "h"].contains(file.pathExtension) {
            let violations = try Self.violations(in: file.path, String(contentsOf: file, encoding: .utf8))
            #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
        }
    }

    @Test func `A phrase is found in a comment and in a document, but not in code`() throws {
        let comment = "/" + "/ tells nothing"
        #expect(try Self.violations(in: "a.swift", "let told = 1\nlet url = 2 \(comment)\n").count == 1)
        #expect(try Self.violations(in: "a.swift", "let told = tells(of: its.own)\n").isEmpty)
        #expect(try Self.violations(in: "a.md", "A request has a jar of its own.\n").count == 1)
    }
}
