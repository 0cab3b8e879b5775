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
            "Sources/Errand/Errand.docc/Caching.md", "Sources/Errand/Errand.docc/Images.md",
            "Sources/Errand/Errand.docc/Streams.md", "Sources/Errand/Errand.docc/Downloads.md",
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
