import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite(
    "Every code block of the documentation compiles",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TypeChecker.compiler != nil, "no swiftc")
)
struct CodeBlockTests {
    @Test(
        arguments: [
            "README.md", "Sources/Errand/Errand.docc/GettingStarted.md", "Sources/Errand/Errand.docc/Testing.md",
            "Sources/Errand/Errand.docc/Lists.md", "Sources/Errand/Errand.docc/Responses.md",
            "Sources/Errand/Errand.docc/Services.md", "Sources/Errand/Errand.docc/OnTheWay.md",
            "Sources/Errand/Errand.docc/Parameters.md", "Sources/Errand/Errand.docc/WatchingTheWire.md",
        ],
        TypeChecker.Isolation.allCases
    )
    func `The Swift blocks of a document compile as one program, with and without isolation to the main actor`(
        _ document: String,
        _ isolation: TypeChecker.Isolation
    ) async throws {
        let blocks = try swiftBlocks(of: document)
        #expect(!blocks.isEmpty)
        let prelude = try TypeChecker.text(of: "Tests/ErrandTests/Documentation/Prelude.txt")
        let program = ([prelude] + blocks).joined(separator: "\n")
        let verdict = try await TypeChecker.check(program, isolation: isolation)
        #expect(verdict.succeeded, "\(verdict.output)")
    }

    @Test func `A block with one misspelled name does not compile`() async throws {
        let blocks = try swiftBlocks(of: "README.md")
        let prelude = try TypeChecker.text(of: "Tests/ErrandTests/Documentation/Prelude.txt")
        let wrong = ([prelude] + blocks).joined(separator: "\n").replacing("loadData()", with: "loadDate()")
        #expect(try await !TypeChecker.check(wrong).succeeded)
    }

    @Test func `The README shows code by line 15 and names its two commands`() throws {
        let lines = try TypeChecker.text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.prefix(15).contains { $0.hasPrefix("```swift") })
        #expect(lines.contains { $0.contains("swift run shop") })
        #expect(lines.contains { $0.contains("swift test") })
    }

    @Test func `Every promise of the README links to an existing test`() throws {
        let promises = try TypeChecker.text(of: "README.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
        let links = promises.flatMap { $0.matches(of: /\[`(\w+Tests)`\]\(([^)]+)\)/) }
        #expect(links.count > 20)
        for link in links {
            #expect(try TypeChecker.text(of: String(link.2)).contains("struct \(link.1)"), "\(link.1)")
        }
        #expect(!promises.contains { $0.contains("Tests`") && !$0.contains("](") }, "a test without a link")
    }

    private func swiftBlocks(of document: String) throws -> [String] {
        var blocks: [String] = []
        var block: [Substring]?
        for line in try TypeChecker.text(of: document).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let finished = block { blocks.append(finished.joined(separator: "\n")) }
                block = block == nil && line == "```swift" ? [] : nil
            } else if !Self.standIns.contains(line) {
                block?.append(line)
            }
        }
        return blocks
    }

    /// Imports that the prelude replaces.
    private static let standIns: [Substring] = {
        #if canImport(UIKit)
        []
        #else
        ["import UIKit", "import SwiftUI"]
        #endif
    }()
}
