import Foundation
import Testing

@testable import ErrandTestSupport

/// The documents of the repository describe the files and types that there are.
@Suite("A reader of the repository finds what its documents name", .timeLimit(.minutes(10)))
struct RepositoryTests {
    private static let documents = [
        "README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", "Sources/README.md",
        "Tests/README.md", "Tests/PROMISES.md", "Tests/AppleSignatures/README.md",
    ]

    /// The folder of a document, in which its links begin.
    private static func folder(of document: String) -> URL {
        TypeChecker.root.appending(path: document).deletingLastPathComponent()
    }

    /// The targets of the links in a text that are part of the repository, with the heading after `#`.
    private static func links(in text: String) -> [(path: String, heading: String)] {
        text.matches(of: /\]\(([^)#:]*)(?:#([^)]*))?\)/).map { (String($0.1), String($0.2 ?? "")) }
    }

    /// The paths in a text between backticks: of folders, which end with `/`, and of sources.
    private static func paths(in text: String) -> [String] {
        text.matches(of: /`([\w.+\/-]+(?:\.swift|\.md|\/))`/).map { String($0.1) }
    }

    /// The headings of a document, as links name them.
    private static func headings(of text: String) -> Set<String> {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("#") }
        return Set(
            lines.map { line in
                let title = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
                return title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacing(" ", with: "-")
            }
        )
    }

    private static func exists(_ path: String, in folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: path).path)
    }

    @Test func `The README has at most 130 lines, shows code by line 15 and names its commands`() throws {
        let lines = try TypeChecker.text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 131)
        #expect(lines.prefix(15).contains { $0.hasPrefix("```swift") })
        for command in ["swift run shop", "swift run goods", "swift test"] {
            #expect(lines.contains { $0.contains(command) }, "\(command)")
        }
    }

    @Test(arguments: documents) func `Every link leads to a file, and to a heading of it`(_ document: String) throws {
        let text = try TypeChecker.text(of: document)
        for (path, heading) in Self.links(in: text) {
            #expect(Self.exists(path, in: Self.folder(of: document)), "\(path)")
            guard !heading.isEmpty else { continue }
            let url = path.isEmpty ? nil : Self.folder(of: document).appending(path: path)
            let target = try url.map { try String(contentsOf: $0, encoding: .utf8) } ?? text
            #expect(Self.headings(of: target).contains(heading), "\(path)#\(heading)")
        }
    }

    @Test(arguments: ["Sources/README.md", "Tests/README.md"])
    func `Every file and folder that is named exists`(_ document: String) throws {
        let paths = Self.paths(in: try TypeChecker.text(of: document))
        #expect(paths.count > 30)
        for path in paths { #expect(Self.exists(path, in: Self.folder(of: document)), "\(path)") }
    }

    @Test(arguments: ["Sources", "Sources/Errand", "Tests"])
    func `Every folder is named`(_ parent: String) throws {
        let document = String(parent.prefix { $0 != "/" } + "/README.md")
        let named = Self.paths(in: try TypeChecker.text(of: document)).filter { $0.hasSuffix("/") }.map {
            Self.folder(of: document).appending(path: $0).standardizedFileURL.path
        }
        let url = TypeChecker.root.appending(path: parent)
        let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        let folders = names.filter { !$0.hasPrefix(".") }.map { url.appending(path: $0) }.filter { $0.isFolder }
        #expect(folders.count > 5)
        let missing = folders.filter { folder in
            !named.contains { "\($0)/".hasPrefix(folder.standardizedFileURL.path + "/") }
        }
        #expect(missing.map(\.lastPathComponent).sorted() == [])
    }

    @Test func `Every type in the picture of a load is declared`() throws {
        let parts = try TypeChecker.text(of: "Sources/README.md").components(separatedBy: "```")
        let names = try #require(parts.count > 1 ? parts[1] : nil).matches(of: /\b[A-Z]\w+/).map { String($0.0) }
        #expect(names.count > 12)
        let root = TypeChecker.root.appending(path: "Sources/Errand")
        let sources = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        let text = try sources.map { try String(contentsOf: root.appending(path: $0), encoding: .utf8) }.joined()
        let declarations = text.matches(of: /(?:class|struct|enum|protocol) (\w+)/).map { String($0.1) }
        #expect(Set(names).subtracting(declarations).sorted() == [])
    }

    // MARK: Promises

    /// The suites that a row of the promises links, with their files.
    private static func suites(in row: some StringProtocol) -> [(name: String, path: String)] {
        String(row).matches(of: /\[`(\w+)`\]\(([^)]+\.swift)\)/).map { (String($0.1), String($0.2)) }
    }

    @Test func `Every promise names a suite that exists`() throws {
        let lines = try TypeChecker.text(of: "Tests/PROMISES.md").split(separator: "\n")
        let rows = lines.filter { $0.hasPrefix("| ") }.dropFirst(2)
        #expect(rows.count > 40)
        for row in rows {
            let suites = Self.suites(in: row)
            #expect(!suites.isEmpty, "\(row)")
            #expect(row.matches(of: /`\w+Tests`/).count == suites.count, "a suite without a link: \(row)")
            for (name, path) in suites {
                #expect(try TypeChecker.text(of: "Tests/\(path)").contains("struct \(name)"), "\(name)")
            }
        }
    }

    /// A filter of several names does not fail for one that matches nothing.
    @Test func `Every suite that CI names exists`() throws {
        let lines = try TypeChecker.text(of: ".ci/run").split(separator: "\n").filter { $0.hasPrefix("suites") }
        let names = Set(lines.flatMap { $0.matches(of: /\w+Tests/).map { String($0.0) } })
        #expect(names.count > 60)
        let folder = TypeChecker.root.appending(path: "Tests")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var missing = names
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for part in text.components(separatedBy: "struct ") + text.components(separatedBy: "class ") {
                missing.remove(String(part.prefix { $0.isLetter || $0.isNumber }))
            }
        }
        #expect(missing == [])
    }

    // MARK: The checks

    @Test func `Links, paths, headings and suites are found`() {
        let links = Self.links(in: "[a](b.md) ![c](d.png) [e](f.md#g-h) [i](#j) [k](https://l.example)")
        #expect(links.map(\.path) == ["b.md", "d.png", "f.md", ""])
        #expect(links.map(\.heading) == ["", "", "g-h", "j"])
        let paths = Self.paths(in: "`a/B+C.swift` `d-e/` `../f.md` `g.h()` `i` and k/l.swift")
        #expect(paths == ["a/B+C.swift", "d-e/", "../f.md"])
        #expect(Self.headings(of: "# ``A``\ntext\n## B, c: `d-e`\n") == ["a", "b-c-d-e"])
        #expect(Self.suites(in: "| a | [`BTests`](c/BTests.swift), `DTests` |").map(\.name) == ["BTests"])
    }
}

extension URL {
    fileprivate var isFolder: Bool { (try? resourceValues(forKeys: [.isDirectoryKey]).isDirectory) == true }
}
